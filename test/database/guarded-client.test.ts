import { createServer, connect as openSocket, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApplicationPool } from '../../src/database/application-pool.js'
import { connect, createRolePool, listen } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

/** A row that announces 32,767 columns and has none: the driver's parser throws, as it does for text beyond 512 MiB. */
const UNPARSABLE_ROW = Buffer.from([0x44, 0, 0, 0, 6, 0x7f, 0xff])

/** Long enough to be under way; a driver that misses its end is not waited for any longer. */
const slow = 'SELECT pg_sleep(20)'

/** Passes everything on between the clients and the real server, until it is told to send what cannot be parsed. */
let proxy: Server
const clients = new Set<Socket>()
let proxyUrl: string

beforeAll(async () => {
  const { hostname, port } = new URL(database.url)
  proxy = createServer((client) => {
    const server = openSocket(Number(port), hostname)
    clients.add(client)
    client.pipe(server).pipe(client)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    client.on('close', () => clients.delete(client))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as { port: number }).port)
  proxyUrl = url.href
})
afterAll(async () => {
  await new Promise((resolve) => proxy.close(resolve))
  await database.pool.query(
    'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND query = $1',
    [slow],
  )
})

function sendUnparsable(): void {
  for (const client of clients) client.write(UNPARSABLE_ROW)
}

const pools = [
  ['a part', () => createRolePool({ databaseUrl: proxyUrl, role: 'job_worker', connectionsMax: 1 })],
  [
    'a part with prepared statements',
    () =>
      createRolePool({
        databaseUrl: proxyUrl,
        role: 'job_worker',
        connectionsMax: 1,
        preparedStatements: true,
      }),
  ],
  ['transaction steps', () => createApplicationPool({ databaseUrl: proxyUrl, connectionsMax: 1 })],
] as const

describe('an answer that the driver cannot parse', () => {
  it.each(pools)(
    'fails the statement of %s, not the process, and the next statement gets another connection',
    async (_of, create) => {
      const pool = create()
      await pool.query('SELECT 1')
      const asked = pool.query(slow)
      sendUnparsable()
      await expect(asked).rejects.toThrow(/out of range|outside buffer bounds/)
      expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
      await pool.end()
    },
  )

  it.each(pools)('while a connection of %s is idle closes that connection only', async (_of, create) => {
    const pool = create()
    await pool.query('SELECT 1')
    sendUnparsable()
    await expect.poll(() => pool.totalCount).toBe(0)
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
    await pool.end()
  })

  it('fails the statement of a single connection', async () => {
    const client = await connect(proxyUrl)
    const asked = client.query(slow)
    sendUnparsable()
    await expect(asked).rejects.toThrow(/out of range|outside buffer bounds/)
    await client.end()
  })

  it('makes the listener reconnect', async () => {
    const losses: Error[] = []
    let listening = 0
    const listener = listen({
      databaseUrl: proxyUrl,
      channel: 'guarded',
      onNotification: () => {},
      onListening: () => {
        listening += 1
      },
      onLost: (error) => losses.push(error),
    })
    await expect.poll(() => listening).toBe(1)
    sendUnparsable()
    await expect.poll(() => listening).toBe(2)
    expect(losses).toHaveLength(1)
    await listener.stop()
  })
})
