import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { connect, createRolePool, migrate, startEmbeddedPostgres } from '../../src/database/index.js'
import { Sagapost, saga } from '../../src/index.js'
import { call } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

const apiKey = 'the-administrators-key-of-the-environment'
/** Nothing reaches the disk but what a commit waits for: the writer in the background comes too late for everything. */
const settings = { wal_writer_delay: '10s', wal_writer_flush_after: '1GB' }

const book = saga<{ item: string }>('book').transaction('book', {
  run: ({ tx, input }) =>
    tx.query('INSERT INTO public.bookings VALUES ($1)', [input.item]).then(() => 'booked'),
})

/** What is acknowledged, and whether it is there. Each is the last thing that happens before the server is killed. */
const promises: {
  what: string
  act: (instance: Sagapost) => Promise<string>
  find: string
}[] = [
  {
    what: 'an event over HTTP',
    act: async ({ url }) => {
      const body = { type: 'lazy', payload: 1 }
      return (await call(`${url}/v1/events`, 'POST', { key: apiKey, body })).body.id
    },
    find: 'SELECT FROM sagapost.events WHERE id = $1',
  },
  {
    what: 'an event with a key, in a batch',
    act: async ({ url }) => {
      const body = { events: [{ type: 'lazy', payload: 2, idempotencyKey: 'lazy' }] }
      return (await call(`${url}/v1/events/batch`, 'POST', { key: apiKey, body })).body.results[0].id
    },
    find: 'SELECT FROM sagapost.events WHERE id = $1',
  },
  {
    what: 'a subscription and its secret',
    act: async ({ subscriptions }) =>
      (await subscriptions.create({ eventType: 'lazy', callbackUrl: 'https://lazy.example/' })).id,
    find: 'SELECT FROM sagapost.subscription_secrets WHERE subscription_id = $1',
  },
  {
    what: 'the start of a saga',
    act: async ({ sagas }) => (await sagas.start(saga('elsewhere').step('s', { run: () => 1 }), {})).id,
    find: 'SELECT FROM sagapost.saga_instances WHERE id = $1',
  },
  {
    what: 'a signal',
    act: async ({ sagas }) => {
      await sagas.signal({ name: 'lazy', key: 'k' })
      return 'k'
    },
    find: 'SELECT FROM sagapost.saga_signals WHERE key = $1',
  },
  {
    what: 'a saga whose work is a transaction of the application',
    act: async ({ sagas }) => {
      const handle = await sagas.start(book, { item: 'b' })
      expect((await handle.result()).state).toBe('Completed')
      return handle.id
    },
    find: `SELECT FROM sagapost.saga_instances JOIN public.bookings ON item = 'b' WHERE id = $1 AND state = 3`,
  },
]

it('[S22, J10, G14] acknowledged work survives a crash, although the database has synchronous_commit = off', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-lazy-'))
  const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'data'), settings })
  let server = await start()
  try {
    await migrate({ databaseUrl: server.url })
    const owner = await connect(server.url)
    await owner.query('CREATE TABLE public.bookings (item text)')
    await owner.query('ALTER DATABASE sagapost SET synchronous_commit = off')
    await owner.end()
    for (const { what, act, find } of promises) {
      const instance = new Sagapost({
        databaseUrl: server.url,
        masterKey: Buffer.alloc(32, 7).toString('base64'),
        parts: ['api', 'sagas'],
        apiKey,
        port: 0,
        sagas: [book],
      })
      await instance.start()
      const id = await act(instance).finally(() => process.kill(server.pid, 'SIGKILL'))
      await server.exited
      await instance.stop()
      await server.stop()
      server = await start()
      const again = await connect(server.url)
      const { rowCount } = await again.query(find, [id])
      await again.end()
      expect(rowCount, what).toBe(1)
    }
  } finally {
    await server.stop()
    await rm(folder, { recursive: true })
  }
})

describe('a connection of a part', () => {
  const database = useDatabase()

  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['on', 'on'],
    ['remote_write', 'remote_write'],
    ['remote_apply', 'remote_apply'],
  ])('[S22] commits with synchronous_commit %s as %s', async (found, expected) => {
    const owner = await database.pool.connect()
    const { rows: names } = await owner.query('SELECT current_database() AS name')
    await owner.query(`ALTER DATABASE ${names[0].name} SET synchronous_commit = '${found}'`)
    const pool = createRolePool({ databaseUrl: database.url, role: 'event_ingest_writer', connectionsMax: 1 })
    const login = await connect(database.url)
    const shown = await Promise.all(
      [pool, login].map((each: pg.Pool | pg.Client) => each.query('SHOW synchronous_commit')),
    )
    await Promise.all([pool.end(), login.end()])
    await owner.query(`ALTER DATABASE ${names[0].name} RESET ALL`)
    owner.release()
    expect(shown.map(({ rows }) => rows[0].synchronous_commit)).toEqual([expected, expected])
  })
})
