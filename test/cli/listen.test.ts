import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keepCertificate } from '../../src/cli/keep-certificate.js'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { readListenOptions } from '../../src/cli/read-listen-options.js'
import { openDataDir } from '../../src/database/index.js'
import { SagapostError } from '../../src/errors/index.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-listen-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the certificate', () => {
  it('is the same for processes that start at the same time, in a folder that the embedded PostgreSQL still accepts', async () => {
    const fresh = join(folder, 'fresh')
    const kept = await Promise.all(Array.from({ length: 5 }, () => keepCertificate(fresh, ['localhost'])))
    expect(new Set(kept.map(({ privateKey }) => privateKey.trim())).size).toBe(1)
    expect(readFileSync(join(fresh, 'listen-ca.pem'), 'utf8').trim()).toBe(
      kept[0]?.certificateAuthority.trim(),
    )
    await openDataDir(fresh)
  })

  it.each([
    ['near its end', (hosts: string[]) => makeCertificate({ hosts, validUntil: inDays(29) })],
    ['for another host', () => makeCertificate({ hosts: ['other.example'] })],
    [
      'not of one piece',
      async (hosts: string[]) => ({
        ...(await makeCertificate({ hosts })),
        privateKey: (await makeCertificate()).privateKey,
      }),
    ],
    [
      'of another authority',
      async (hosts: string[]) => ({
        ...(await makeCertificate({ hosts })),
        certificateAuthority: (await makeCertificate()).certificateAuthority,
      }),
    ],
    ['damaged', async () => ({ privateKey: 'x', certificate: 'y', certificateAuthority: 'z' })],
  ])('that is %s is replaced', async (what, make) => {
    const dir = join(folder, what.replaceAll(' ', '-'))
    mkdirSync(dir)
    const { privateKey, certificate, certificateAuthority } = await make(['localhost'])
    writeFileSync(join(dir, 'listen-key.pem'), bundle(privateKey, certificate, certificateAuthority))
    const first = await keepCertificate(dir, ['localhost'])
    expect(first.certificate.trim()).not.toBe(certificate.trim())
    expect((await keepCertificate(dir, ['localhost'])).certificate.trim()).toBe(first.certificate.trim())
    expect(statSync(join(dir, 'listen-key.pem')).mode & 0o777).toBe(0o600)
  })

  it('that is good for a while is kept', async () => {
    const dir = join(folder, 'good')
    mkdirSync(dir)
    const made = await makeCertificate({ hosts: ['localhost', '127.0.0.1'], validUntil: inDays(31) })
    const { privateKey, certificate, certificateAuthority } = made
    writeFileSync(join(dir, 'listen-key.pem'), bundle(privateKey, certificate, certificateAuthority))
    const kept = await keepCertificate(dir, ['localhost', '127.0.0.1'])
    expect(kept.certificate.trim()).toBe(made.certificate.trim())
  })

  const bundle = (...pems: string[]) => pems.map((pem) => `${pem.trim()}\n`).join('')
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
})

describe('options that cannot be used', () => {
  it.each([
    ['--port', { port: 'eighty' }],
    ['--port', { port: '65536' }],
    ['--port', { port: '-1' }],
    ['--host', { host: '' }],
    ['--host', { host: 'not a host' }],
    ['--status', { status: '199' }],
    ['--status', { status: '600' }],
    ['--status', { status: 'bad' }],
    ['--delay', { delay: '2' }],
    ['--delay', { delay: '2d' }],
    ['--fail-first', { failFirst: '0' }],
    ['--fail-first', { failFirst: '1.5' }],
  ])('[O2] %s of %o', (option, given) => {
    const read = () => readListenOptions({ port: '0', host: '127.0.0.1', secret: [], ...given })
    expect(read).toThrow(SagapostError)
    expect(read).toThrow(new RegExp(`^${option} must be .+, not "${Object.values(given)[0]}"$`))
  })
})
