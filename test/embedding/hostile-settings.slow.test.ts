import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { describeSchema } from '../../scripts/describe-schema.js'
import { migrate } from '../../src/database/index.js'
import { saga } from '../../src/index.js'
import { call } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'
import { bodies, useInstances } from './use-instances.js'

const apiKey = 'the-administrators-key-of-the-environment'
const HOUR_MS = 3_600_000
/** No time zone of the settings below is that near to UTC. */
const expectRecent = (value: Date | string) =>
  expect(Math.abs(new Date(value).getTime() - Date.now()), String(value)).toBeLessThan(HOUR_MS)

/** What an administrator may have set for the database, and what a session of the application then begins with. */
const hostile = {
  'as in Germany': {
    DateStyle: 'German, DMY',
    TimeZone: 'Asia/Kolkata',
    IntervalStyle: 'iso_8601',
    extra_float_digits: '-15',
    bytea_output: 'escape',
    search_path: 'decoys, pg_catalog',
    default_transaction_isolation: 'serializable',
    standard_conforming_strings: 'off',
    array_nulls: 'off',
    quote_all_identifiers: 'on',
    'plpgsql.extra_errors': 'all',
  },
  'as in SQL': {
    DateStyle: 'SQL, DMY',
    TimeZone: 'America/Chicago',
    IntervalStyle: 'sql_standard',
    default_transaction_isolation: 'repeatable read',
    default_transaction_deferrable: 'on',
    statement_timeout: '1h',
    lock_timeout: '1h',
    idle_session_timeout: '1h',
  },
} as const

/** Whatever the application has the whole process read values as. */
const oids = [16, 17, 20, 21, 23, 114, 700, 701, 1007, 1009, 1016, 1114, 1184, 3802] as never[]
const parsers = oids.map((oid) => pg.types.getTypeParser(oid))
const misreadAll = () => {
  for (const oid of oids) pg.types.setTypeParser(oid, () => `not what PostgreSQL sent for ${oid}`)
}
afterEach(() => {
  for (const [index, oid] of oids.entries()) pg.types.setTypeParser(oid, parsers[index] as never)
})

describe.each(Object.entries(hostile))('on a database with settings %s', (_, settings) => {
  const database = useDatabase({ migrated: false })
  const { embed, receive } = useInstances()

  it('[O3, O2] everything works the same: HTTP, SQL, embedding, sagas, from the migration on', async () => {
    const { rows } = await database.pool.query('SELECT current_database() AS name')
    await database.pool.query('CREATE SCHEMA decoys')
    await database.pool.query(
      `CREATE FUNCTION decoys.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '1999-01-01 00:00Z' $$`,
    )
    await database.pool.query('CREATE TABLE public.bookings (item text, at timestamptz)')
    // From before the settings: a connection that the pool made later would have them.
    const reader = await database.pool.connect()
    for (const [name, value] of Object.entries(settings)) {
      const setting = name === 'search_path' ? value : pg.escapeLiteral(value)
      await database.pool.query(`ALTER DATABASE ${rows[0].name} SET ${name} = ${setting}`)
    }
    const application = new pg.Client({ connectionString: database.url })
    await application.connect()
    const shown = await application.query('SHOW DateStyle')
    expect(shown.rows[0].DateStyle).toBe(settings.DateStyle)
    try {
      await migrate({ databaseUrl: database.url })
      const written = await readFile(new URL('../../docs/reference/schema.txt', import.meta.url), 'utf8')
      expect(await describeSchema(reader)).toBe(written)
      misreadAll()
      await wholeWay(application)
    } finally {
      reader.release()
      await application.end()
    }
  })

  const wholeWay = async (application: pg.Client) => {
    let status = 500
    const receiver = await receive(() => ({ status }))
    const shop = saga<{ sku: string }>('shop')
      .step('reserve', { run: ({ input }) => ({ item: input.sku }) })
      .waitFor('paid', { signal: 'paid', key: ({ input }) => input.sku })
      .transaction('book', {
        run: async ({ tx, input }) => {
          await tx.query('INSERT INTO public.bookings VALUES ($1, pg_catalog.now())', [input.sku])
          return 'booked'
        },
      })
    const parts = ['api', 'router', 'orchestrator', 'worker', 'cleaner', 'sagas'] as const
    const instance = embed({ databaseUrl: database.url, apiKey, port: 0, parts, sagas: [shop] }, receiver)
    await instance.start()
    const http = async (method: string, path: string, body?: unknown) => {
      const answer = await call(`${instance.url}${path}`, method, { key: apiKey, ...(body ? { body } : {}) })
      expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
      return answer.body
    }

    const made = await http('POST', '/v1/subscriptions', {
      eventType: 'odd.thing',
      callbackUrl: `${receiver.url}hooks`,
      maxAttempts: 1,
      headers: { 'x-tenant': 'it\\s' },
    })
    expect(made.secret).toMatch(/^whsec_/)
    expectRecent(made.createdAt)
    const subscription = `/v1/subscriptions/${made.id}`
    await http('POST', `${subscription}/verify`)
    expectRecent(
      (await http('POST', `${subscription}/rotate-secret`, { overlapMs: 60_000 })).previousExpiresAt,
    )
    expect((await http('GET', '/v1/subscriptions')).data).toMatchObject([
      { id: made.id, headers: { 'x-tenant': 'it\\s' }, active: true },
    ])
    receiver.requests.length = 0

    const odd = String.raw`{"path":"C:\\new\\table","quote":"it's"}`
    await application.query('BEGIN')
    await instance.publish(application, { type: 'odd.thing', payloadJson: odd, idempotencyKey: 'NULL' })
    await application.query('COMMIT')
    await application.query(`SELECT sagapost.publish('odd.thing', '{"by":"sql"}')`)
    await http('POST', '/v1/events', { type: 'odd.thing', payload: { by: 'http' }, idempotencyKey: 'h' })
    await instance.events.publishMany([
      { type: 'odd.thing', payload: { by: 'batch' } },
      { type: 'odd.thing', payload: { by: 'batch too' }, idempotencyKey: 'b' },
    ])
    const letters = async () => (await http('GET', '/v1/dead-letters')).data
    await expect.poll(async () => (await letters()).length).toBe(5)
    status = 204
    receiver.requests.length = 0
    const [first, second, ...rest] = await letters()
    expectRecent(first.failedAt)
    await http('POST', `/v1/dead-letters/${first.id}/requeue`)
    await application.query('SELECT sagapost.requeue_dead_letter($1)', [second.id])
    const from = new Date(Date.now() - HOUR_MS).toISOString()
    expect(rest).toHaveLength(3)
    await http('POST', '/v1/dead-letters/requeue', { filter: { from, eventType: 'odd.thing' } })
    await expect.poll(() => bodies(receiver).length).toBe(5)
    expect(bodies(receiver)).toContain(odd)
    const deliveries = async () => (await http('GET', '/v1/deliveries?status=Completed')).data
    await expect.poll(async () => (await deliveries()).length).toBe(5)
    for (const { updatedAt } of await deliveries()) expectRecent(updatedAt)
    for (const { createdAt } of (await instance.events.list({ type: 'odd.thing' })).data)
      expectRecent(createdAt)

    const started = await instance.sagas.start(shop, { sku: 'a' }, { key: 'a' })
    await application.query('BEGIN')
    const startedIn = await instance.sagas.startIn(application, shop, { sku: 'b' }, { key: 'b' })
    const again = await instance.sagas.startIn(application, shop, { sku: 'b' }, { key: 'b' })
    expect([startedIn.created, again.created]).toEqual([true, false])
    const receipt = await instance.sagas.signalIn(application, { name: 'paid', key: 'b' })
    expectRecent(receipt.receivedAt)
    await application.query('COMMIT')
    await application.query(`SELECT sagapost.signal('paid', 'a')`)
    instance.wake()
    for (const handle of [started, startedIn]) {
      expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'booked' })
      const { createdAt } = (await instance.sagas.get(handle.id)) ?? {}
      expectRecent(createdAt as Date)
    }
    expect((await http('GET', '/v1/sagas')).data.length).toBeGreaterThan(1)
    await http('GET', '/v1/statistics')
    await http('GET', '/v1/system')
  }
})
