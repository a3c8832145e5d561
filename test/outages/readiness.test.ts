import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createDatabaseWatch, createReadiness } from '../../src/database/index.js'
import { call, silent, startTestApi } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const LOOK = 'partition_headroom'
const WRITE = 'pg_logical_emit_message'
const sockets = new Set<Socket>()
/** Everything that was asked of the database. */
let asked = ''
let isOpen = true
let through: string

const countOf = (text: string) => asked.split(text).length - 1

const proxy = createServer((client) => {
  const server = connect(Number(new URL(database.url).port), '127.0.0.1')
  for (const socket of [client, server]) {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  if (!isOpen) return client.destroy()
  client.on('data', (chunk) => {
    asked += chunk.toString('latin1')
  })
  client.pipe(server)
  return server.pipe(client)
})
beforeAll(async () => {
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = new URL(database.url)
  url.port = String((proxy.address() as AddressInfo).port)
  through = url.href
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  proxy.close()
})

async function open(lookEveryMs: number) {
  const log = silent()
  const watch = createDatabaseWatch({ databaseUrl: through, log })
  const times = { lookEveryMs, writeEveryMs: 3_600_000 }
  const readiness = await createReadiness({ databaseUrl: through, log, watch, ...times })
  onTestFinished(async () => {
    await readiness.pool.end()
    watch.stop()
  })
  return readiness
}

it('[O2] one query serves all callers at the same time, and those soon after', async () => {
  const readiness = await open(3_600_000)
  asked = ''
  const answers = await Promise.all(Array.from({ length: 100 }, readiness.check))
  expect(answers).toEqual(answers.map(() => []))
  for (let times = 0; times < 10; times++) expect(await readiness.check()).toEqual([])
  expect([countOf(LOOK), countOf(WRITE)]).toEqual([1, 1])
})

it('[O2] only some checks write: a commit that has just worked is not repeated', async () => {
  const readiness = await open(0)
  asked = ''
  for (let times = 0; times < 3; times++) await readiness.check()
  expect(countOf(LOOK)).toBe(3)
  expect(countOf(WRITE)).toBe(1)
})

it('[O2, O7] an unauthenticated caller gets a code and our own sentence, not the driver’s', async () => {
  const api = await startTestApi(through)
  onTestFinished(() => api.stop())
  isOpen = false
  for (const socket of sockets) socket.destroy()
  const { status, body } = await call(`${api.url}/readyz`, 'GET', { key: null })
  expect([status, body]).toEqual([
    503,
    {
      status: 'not_ready',
      obstacles: [{ code: 'database_unreachable', detail: 'PostgreSQL cannot be reached' }],
    },
  ])
  isOpen = true
  await expect.poll(async () => (await call(`${api.url}/readyz`, 'GET', { key: null })).status).toBe(200)
})
