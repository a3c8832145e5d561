// Callbacks are HTTPS, on one machine too: a certificate for 127.0.0.1 that the shop trusts and the warehouse shows.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generate } from 'selfsigned'

/** Where the example keeps what it makes. */
export const dataFolder = pathToFileURL(`${resolve(process.env.DATA_DIR ?? '.order-service')}/`)

export async function readCertificate(): Promise<{ certificate: string; privateKey: string }> {
  const file = new URL('certificate.json', dataFolder)
  if (!existsSync(file)) {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
    const { cert, private: privateKey } = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
      ...{ keyType: 'ec', curve: 'P-256', algorithm: 'sha256' },
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    })
    // Whole or not at all, in case both programs start at once.
    const mine = new URL(`certificate.${process.pid}`, dataFolder)
    writeFileSync(mine, JSON.stringify({ certificate: cert, privateKey }), { mode: 0o600 })
    if (!existsSync(file)) renameSync(mine, file)
  }
  return JSON.parse(readFileSync(file, 'utf8'))
}
