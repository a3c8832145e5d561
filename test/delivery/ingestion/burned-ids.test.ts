import { expect, it } from 'vitest'
import { readConfig } from '../../../src/config/index.js'
import { storeEvents } from '../../../src/delivery/index.js'
import { startApi } from '../../../src/http/index.js'
import { createMetrics } from '../../../src/observability/index.js'
import { startParts } from '../../../src/runtime/start-parts.js'
import { adminKey, call, silent } from '../../http/api-server.js'
import { useDatabase } from '../../support/database.js'
import { codeOf } from '../../support/refusal.js'

const database = useDatabase()

const nextId = async (): Promise<number> => {
  const { rows } = await database.pool.query(
    'SELECT last_value + is_called::int AS id FROM sagapost.events_id_seq',
  )
  return Number(rows[0].id)
}

const publish = (key: string | null, payload = '{"n":1}') =>
  database
    .as('event_publisher')
    .query<{ id: string }>('SELECT sagapost.publish($1, $2::json, $3) AS id', ['ids.kept', payload, key])

const setWidth = (width: number) =>
  database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [width])

it('[E3] a known key consumes no id, however often it is published', async () => {
  const first = (await publish('often')).rows[0]?.id
  const before = await nextId()
  for (let again = 0; again < 3; again++) expect((await publish('often')).rows[0]?.id).toBe(first)
  expect(await codeOf(publish('often', '{"n":2}'))).toBe('idempotency_conflict')
  expect(await nextId()).toBe(before)
})

it('[E3] in a batch only new events consume an id, in the order of the items', async () => {
  const event = (key: string | undefined, payload = '1') => ({
    type: 'ids.batch',
    payload,
    ...(key === undefined ? {} : { idempotencyKey: key }),
  })
  const store = (events: Parameters<typeof storeEvents>[1]) =>
    storeEvents(database.as('event_ingest_writer'), events)
  const [known] = await store([event('known')])
  const before = await nextId()
  const outcomes = await store([
    event('known'),
    event(undefined),
    event('new'),
    event('known', '2'),
    event('known'),
  ])
  expect(outcomes).toMatchObject([
    { id: (known as { id: string }).id, duplicate: true },
    { id: String(before), duplicate: false },
    { id: String(before + 1), duplicate: false },
    { refusal: { code: 'idempotency_conflict' } },
    { id: (known as { id: string }).id, duplicate: true },
  ])
  expect(await nextId()).toBe(before + 2)
})

it('[E1, R1] ids that a publisher burns cost a pause of publishing, and lose no event', async () => {
  await setWidth(1_000)
  const kept = (await publish(null)).rows[0]?.id
  const partitions = async () =>
    (await database.pool.query('SELECT count(*)::int AS count FROM sagapost.partitions')).rows[0].count
  const before = await partitions()
  await database
    .as('event_ingest_writer')
    .query(`SELECT count(nextval('sagapost.events_id_seq')) FROM generate_series(1, 3000000)`)
  expect(await codeOf(publish('burned'))).toBe('partition_missing')
  await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
  // Four tables, two ranges ahead and the one begun: none for the ids that were burned.
  expect((await partitions()) - before).toBeLessThanOrEqual(4 * 3)
  const { id } = (await publish('burned')).rows[0] as { id: string }
  const { rows } = await database.pool.query(
    'SELECT event_id FROM sagapost.unrouted_events WHERE event_id = ANY ($1) ORDER BY event_id',
    [[kept, id]],
  )
  expect(rows).toEqual([{ event_id: kept }, { event_id: id }])
  await setWidth(1_000_000)
})

it('[E1] an event without a partition over HTTP has one created, and is stored on its retry', async () => {
  const config = readConfig({ DATABASE_URL: database.url, PORT: '0' })
  const options = {
    databaseUrl: database.url,
    config: { ...config, apiKey: adminKey, masterKey: Buffer.alloc(32, 7), port: 0 },
    log: silent(),
    metrics: createMetrics(),
  }
  const parts = await startParts({ ...options, only: [] })
  const api = await startApi({ ...options, wakeups: parts.wakeups })
  const post = () =>
    call(`${api.url}/v1/events`, 'POST', { body: { type: 'ids.http', payload: 1, idempotencyKey: 'one' } })
  try {
    expect((await post()).status).toBe(202)
    // Twice: the first partition may be made by the loop's first round.
    for (const far of [50_000_000, 90_000_000]) {
      await database.pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [far])
      const batch = Array.from({ length: 100 }, () => ({ type: 'ids.http', payload: 2 }))
      const before = await nextId()
      const refused = await call(`${api.url}/v1/events/batch`, 'POST', { body: { events: batch } })
      expect(refused).toMatchObject({ status: 503, body: { code: 'partition_missing' } })
      expect(refused.headers.get('retry-after')).not.toBeNull()
      // Once each: a group is not taken apart to find out whose fault it is.
      expect((await nextId()) - before).toBeLessThanOrEqual(batch.length)
      const again = () => call(`${api.url}/v1/events`, 'POST', { body: { type: 'ids.http', payload: 3 } })
      // The next round of the loop by itself would be in half a minute.
      await expect.poll(async () => (await again()).status, { timeout: 10_000, interval: 500 }).toBe(202)
    }
    expect((await post()).body.duplicate).toBe(true)
  } finally {
    await api.stop()
    await parts.stop()
  }
})
