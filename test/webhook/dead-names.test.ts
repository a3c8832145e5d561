import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { connect } from '../../src/database/index.js'
import { createWebhookSender, generateSecret } from '../../src/webhook/index.js'
import { useDatabase } from '../support/database.js'
import { startReceiver } from '../support/https-receiver.js'
import { startNameServer } from '../support/name-server.js'

const database = useDatabase()
const folder = mkdtempSync(join(tmpdir(), 'sagapost-dns-'))
const resolvFile = join(folder, 'resolv.conf')
// By itself it would wait for minutes.
beforeAll(() => writeFileSync(resolvFile, 'search .\noptions timeout:30 attempts:5'))
afterAll(() => rmSync(folder, { recursive: true }))
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** More than libuv has threads, by far. */
const DEAD_NAMES = 32
const deadNames = Array.from({ length: DEAD_NAMES }, (_, index) => `dead-${index}.test`)

const request = (url: string) => ({
  url,
  webhookId: 'evt_1',
  body: Buffer.from('{}'),
  secrets: [generateSecret()],
  headers: {},
})

async function start({
  requestTimeoutMs = 250_000,
  timeoutMs,
}: {
  requestTimeoutMs?: number
  timeoutMs?: number
}) {
  const receiver = await startReceiver({ certificate: await makeCertificate({ hosts: ['hooks.test'] }) })
  cleanups.push(receiver.stop)
  const server = await startNameServer({
    'hooks.test': { addresses: ['127.0.0.1'] },
    ...Object.fromEntries(deadNames.map((name) => [name, 'silent' as const])),
  })
  cleanups.push(server.stop)
  const sender = createWebhookSender({
    requestTimeoutMs,
    allowedCidrs: ['127.0.0.0/8'],
    extraCertificateAuthorities: [receiver.certificateAuthority],
    names: { servers: [server.address], resolvFile, ...(timeoutMs && { timeoutMs }) },
  })
  cleanups.push(sender.close)
  return { receiver, server, sender }
}

it('names without an answer from any server delay neither other endpoints nor the database’s connections', async () => {
  const { receiver, server, sender } = await start({ timeoutMs: 240_000 })
  let ended = 0
  const dead = deadNames.map(async (name) => {
    const outcome = await sender.send(request(`https://${name}/`))
    ended += 1
    return outcome
  })
  await expect.poll(() => new Set(server.questions)).toEqual(new Set(deadNames))
  // Of the threads that the database's look-ups and the file system need, none is taken.
  expect(process.getActiveResourcesInfo()).not.toContain('GetAddrInfoReqWrap')

  expect(await sender.send(request(`https://hooks.test:${receiver.port}/`))).toMatchObject({
    delivered: true,
  })
  const byName = new URL(database.url)
  byName.hostname = 'localhost'
  const client = await connect(byName.href)
  await client.end()
  expect(ended).toBe(0)

  await sender.close()
  for (const outcome of await Promise.all(dead)) expect(outcome).toMatchObject({ errorCode: 'aborted' })
})

it('a name without an answer ends with dns_failed, well before the request’s own deadline', async () => {
  const { sender } = await start({ requestTimeoutMs: 20_000 })
  expect(await sender.send(request('https://dead-0.test/'))).toMatchObject({ errorCode: 'dns_failed' })
})

it('a cached answer is checked and dialled like a fresh one: no range, no connection', async () => {
  const { receiver, server } = await start({})
  const sender = createWebhookSender({
    requestTimeoutMs: 250_000,
    allowedCidrs: [],
    names: { servers: [server.address], resolvFile },
  })
  cleanups.push(sender.close)
  for (let round = 0; round < 3; round += 1) {
    expect(await sender.send(request(`https://hooks.test:${receiver.port}/`))).toMatchObject({
      errorCode: 'blocked_address',
    })
  }
  expect(server.questions).toEqual(['hooks.test'])
  expect(receiver.connectionsMade()).toBe(0)
})
