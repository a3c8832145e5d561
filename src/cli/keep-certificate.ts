import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { openDataDir } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { makeCertificate, type ServerCertificate } from './make-certificate.js'

export interface KeptCertificate extends ServerCertificate {
  /** For NODE_EXTRA_CA_CERTS. */
  authorityFile: string
}

/** A certificate is replaced this long before it expires, so that a receiver started now works for a while. */
const RENEW_BEFORE_MS = 30 * 86_400_000

/**
 * The development receiver's certificate, kept in the data directory so that it stays trusted across restarts.
 * `listen-key.pem` holds all three parts, because one file can be created atomically: two processes that start at once
 * get the same certificate. The other two files are copies for senders.
 */
export async function keepCertificate(dataDir: string, hosts: readonly string[]): Promise<KeptCertificate> {
  const file = (name: string) => join(resolve(dataDir), name)
  const authorityFile = file('listen-ca.pem')
  try {
    await openDataDir(resolve(dataDir))
    const certificate = await readOrMake(file('listen-key.pem'), hosts)
    await copyTo(authorityFile, certificate.certificateAuthority)
    await copyTo(file('listen-cert.pem'), certificate.certificate)
    return { ...certificate, authorityFile }
  } catch (error) {
    if (error instanceof SagapostError || (error as NodeJS.ErrnoException).syscall === undefined) throw error
    const message = `The data directory ${dataDir} cannot be used: ${(error as Error).message}`
    throw new SagapostError('data_dir_unusable', message, { cause: error })
  }
}

async function readOrMake(keyFile: string, hosts: readonly string[]): Promise<ServerCertificate> {
  const found = await readIfThere(keyFile)
  const usable = found === undefined ? undefined : parseUsable(found, hosts)
  if (usable) return usable

  const made = await makeCertificate({ hosts })
  const scratch = scratchOf(keyFile)
  const parts = [made.privateKey, made.certificate, made.certificateAuthority]
  await writeFile(scratch, parts.map((pem) => `${pem.trim()}\n`).join(''), { mode: 0o600 })
  if (found !== undefined) {
    await rename(scratch, keyFile)
    return made
  }
  try {
    await link(scratch, keyFile)
    return made
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return readOrMake(keyFile, hosts) // another process created it first
  } finally {
    await rm(scratch)
  }
}

/** Undefined for a certificate that is damaged, inconsistent, about to expire, or for other hosts. */
function parseUsable(text: string, hosts: readonly string[]): ServerCertificate | undefined {
  const blocks = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----\n/g) ?? []
  const [privateKey = '', certificate = '', certificateAuthority = ''] = blocks
  try {
    const shown = new X509Certificate(certificate)
    const authority = new X509Certificate(certificateAuthority)
    const lasts = [shown, authority].every(
      ({ validTo }) => Date.parse(validTo) - Date.now() > RENEW_BEFORE_MS,
    )
    const covered = hosts.every((host) => (isIP(host) ? shown.checkIP(host) : shown.checkHost(host)))
    const matches = shown.verify(authority.publicKey) && shown.checkPrivateKey(createPrivateKey(privateKey))
    return lasts && covered && matches ? { privateKey, certificate, certificateAuthority } : undefined
  } catch {
    return undefined
  }
}

async function copyTo(file: string, text: string): Promise<void> {
  const pem = `${text.trim()}\n`
  if ((await readIfThere(file)) === pem) return
  const scratch = scratchOf(file)
  await writeFile(scratch, pem, { mode: 0o644 })
  await rename(scratch, file)
}

function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

function scratchOf(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}.new`
}
