import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { countMatching, requeueDeadLetters } from '../../src/built-in-sagas/index.js'
import { requeueBatch } from '../../src/built-in-sagas/requeue-batch.js'
import { countDeadLetters } from '../../src/built-in-sagas/requeue-dead-letters.js'
import { byTime, type DatabaseRole, readInRanges } from '../../src/database/index.js'
import { readRanges } from '../../src/database/read-ranges.js'
import { selectDeadLetters } from '../../src/delivery/dead-letters/list-dead-letters.js'
import {
  cancelDelivery,
  getDeadLetter,
  getDelivery,
  getEvent,
  listDeadLetters,
  listDeliveries,
  listEvents,
  requeueDeadLetter,
} from '../../src/delivery/index.js'
import type { DeliveryFilter } from '../../src/delivery/reading/list-deliveries.js'
import { selectEvents } from '../../src/delivery/reading/list-events.js'
import { readWebhookIds } from '../../src/delivery/reading/read-webhook-ids.js'
import { countWaitingLetters, createBacklogCollector, listProcesses } from '../../src/observability/index.js'
import { deactivateGoneSubscriptions } from '../../src/subscriptions/index.js'
import { countLocks } from '../support/count-locks.js'
import { useDatabase } from '../support/database.js'
import { insertSubscription } from '../support/fixtures.js'
import { addPartitions, narrowPartitions } from '../support/partitions.js'
import { walkPages } from '../support/walk-pages.js'

const database = useDatabase()
const WIDTH = 1_000
const FEW_RANGES = 40
const MANY_RANGES = 70
/** In each range, with ids that follow one another. */
const PER_RANGE = 10
const ROWS = FEW_RANGES * PER_RANGE
const ALL = 1_000
/** Of a range: its partitions and their indexes are more. */
const RELATIONS = 20

const reads = () => database.as('saga_readonly_role')
const idOf = (number: number) => String(Math.floor(number / PER_RANGE) * WIDTH + (number % PER_RANGE) + 1)

/**
 * Times do not follow the ids of the events, and three rows share one; ids of deliveries and dead letters neither, as
 * after requeues. Every tenth dead letter was requeued. Rows are written as they would stand, past the guards.
 */
beforeAll(async () => {
  const { pool } = database
  for (let n = 0; n < 4; n++) await insertSubscription(pool)
  await narrowPartitions(database, WIDTH, FEW_RANGES)
  await pool.query(
    `INSERT INTO sagapost.events (id, event_type, created_at, payload)
     SELECT number / $2 * $3 + number % $2 + 1, 'type.' || number % 3,
            sagapost.now() - (number * 77 % $1) / 3 * interval '1 second', '{"order": 7}'
     FROM generate_series(0, $1::bigint - 1) AS number`,
    [ROWS, PER_RANGE, WIDTH],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas
       (id, event_id, subscription_id, status, attempt_count, requeued_from, final_error_code, next_attempt_at)
     SELECT 1 + number * 77 % $1, number / $2 * $3 + number % $2 + 1, 1 + number % 4,
            (ARRAY['Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered'])[1 + number % 5]::sagapost.delivery_status,
            1, CASE WHEN number % 10 = 9 THEN 1 + number * 77 % $1 END,
            CASE WHEN number % 5 IN (2, 4) THEN 'http_' || 500 + number % 3 END,
            sagapost.now() + (number - 200) * interval '1 minute'
     FROM generate_series(0, $1::bigint - 1) AS number`,
    [ROWS, PER_RANGE, WIDTH],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id, status, attempt, worker_id, lease_until)
     SELECT id, id, event_id, subscription_id,
            (CASE WHEN status <> 'InProgress' THEN 'Completed' WHEN id % 2 = 0 THEN 'Pending' ELSE 'Leased' END)::sagapost.job_status,
            1, CASE WHEN status = 'InProgress' AND id % 2 = 1 THEN 'worker-' || id % 3 END,
            sagapost.now() + (id - 200) * interval '1 minute'
     FROM sagapost.webhook_delivery_sagas`,
  )
  await pool.query(
    `INSERT INTO sagapost.dead_letters
       (id, saga_id, event_id, subscription_id, event_type, failed_at, final_error_code, payload_snapshot, attempt_count)
     SELECT saga.id, saga.id, event_id, subscription_id, event_type, created_at_of.at, 'http_' || 500 + saga.id % 3, '{}', 5
     FROM sagapost.webhook_delivery_sagas AS saga
     CROSS JOIN LATERAL (SELECT event_type, created_at AS at FROM sagapost.events WHERE id = event_id) AS created_at_of`,
  )
  await pool.query(
    `SELECT setval('sagapost.events_id_seq', $1), setval('sagapost.webhook_delivery_sagas_id_seq', $1)`,
    [FEW_RANGES * WIDTH - 500],
  )
  await pool.query('ANALYZE')
})

const ofType = `event_id IN (SELECT id FROM sagapost.events WHERE event_type = 'type.1')`
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)

describe('a list over many ranges', () => {
  it.each<[string, object, (string | null)[]]>([
    ['all', {}, [null, null, null]],
    ['a type', { type: 'type.1' }, ['type.1', null, null]],
  ])(
    '[S21, E1] of events (%s) has the same rows as one statement over all ranges, in the same order',
    async (_, filter, values) => {
      const { rows } = await reads().query(selectEvents, [null, null, ...values, ALL])
      expect(rows.length).toBeGreaterThan(100)
      for (const limit of [7, 200]) {
        const walked = await walkPages((page) => listEvents(reads(), page), { ...filter, limit })
        expect(idsOf(walked)).toEqual(idsOf(rows))
      }
    },
  )

  it.each<[string, object, (string | null)[]]>([
    ['all', {}, [null, null, null, null, null]],
    ['a subscription', { subscriptionId: '2' }, ['2', null, null, null, null]],
    ['an error', { errorCode: 'http_501' }, [null, 'http_501', null, null, null]],
    ['a type', { eventType: 'type.1' }, [null, null, 'type.1', null, null]],
  ])(
    '[S21, D1] of dead letters (%s) has the same rows as one statement over all ranges, in the same order',
    async (_, filter, values) => {
      const { rows } = await reads().query(selectDeadLetters, [null, null, ...values, ALL])
      expect(rows.length).toBeGreaterThanOrEqual(100)
      for (const limit of [7, 200]) {
        const walked = await walkPages((page) => listDeadLetters(reads(), page), { ...filter, limit })
        expect(walked.map(({ id, requeuedAs }) => [id, requeuedAs])).toEqual(
          rows.map(({ id, requeued_as }) => [id, requeued_as]),
        )
        expect(walked.every(({ webhookId }) => webhookId !== null)).toBe(true)
      }
    },
  )
})

describe('a list of deliveries over many ranges', () => {
  it.each<[string, DeliveryFilter, string]>([
    ['all', {}, 'true'],
    ['Completed', { status: 'Completed' }, `status = 'Completed'`],
    ['Pending', { status: 'Pending' }, `status = 'Pending'`],
    ['InProgress', { status: 'InProgress' }, `status = 'InProgress'`],
    ['DeadLettered', { status: 'DeadLettered' }, `status = 'DeadLettered'`],
    ['a subscription', { subscriptionId: '2' }, 'subscription_id = 2'],
    ['an error', { errorCode: 'http_501' }, `final_error_code = 'http_501'`],
    ['an event', { eventId: '10003' }, 'event_id = 10003'],
    ['a type and a status', { eventType: 'type.1', status: 'Pending' }, `status = 'Pending' AND ${ofType}`],
  ])(
    '[S21] (%s) returns all of them, newest first, however short the search is',
    async (_, filter, condition) => {
      const { rows } = await database.pool.query(
        `SELECT id FROM sagapost.webhook_delivery_sagas WHERE ${condition} ORDER BY id DESC`,
      )
      for (const [limit, walkedMax] of [
        [7, 100_000],
        [200, 100_000],
        [7, 9],
      ] as const) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page = await listDeliveries(reads(), { ...filter, limit, cursor }, walkedMax)
          expect(page.data.length).toBeLessThanOrEqual(limit)
          seen.push(...idsOf(page.data))
          cursor = page.nextCursor ?? undefined
        } while (cursor !== undefined)
        expect(seen).toEqual(idsOf(rows))
      }
    },
  )

  it('[S21] (a type) returns all of them by event', async () => {
    const { rows } = await database.pool.query(
      `SELECT saga.id FROM sagapost.webhook_delivery_sagas AS saga JOIN sagapost.events AS event ON event.id = event_id
       WHERE event_type = 'type.1' ORDER BY event.created_at DESC, event.id DESC, saga.id DESC`,
    )
    for (const limit of [7, 200]) {
      const walked = await walkPages((page) => listDeliveries(reads(), page), { eventType: 'type.1', limit })
      expect(idsOf(walked)).toEqual(idsOf(rows))
    }
  })
})

it('[S21] a page over many ranges has no more rows than one statement over all', async () => {
  const asked = { order: byTime, limit: 7 }
  const values = [null, null, null, null, null, asked.limit]
  const rows = await readInRanges<{ id: string; at_us: number }>(reads(), selectEvents, values, asked)
  expect(idsOf(rows)).toEqual(idsOf((await reads().query(selectEvents, values)).rows))
})

it('[S21] the newest group has no upper bound and the oldest no lower bound, and there is one group for few ranges', async () => {
  expect(await readRanges(reads())).toEqual([
    { from: '24000', to: null },
    { from: '8000', to: '24000' },
    { from: null, to: '8000' },
  ])
  const { rows } = await reads().query('SELECT * FROM sagapost.partition_groups($1)', [FEW_RANGES])
  expect(rows).toEqual([{ from_id: null, to_id: null }])
})

describe('a count over many ranges', () => {
  it('[S21, D4] of dead letters equals that of one statement over all ranges', async () => {
    const { rows } = await reads().query(countDeadLetters, [2, null, null, null, null])
    expect(rows[0].matching).toBeGreaterThan(50)
    expect(await countMatching(reads(), { subscriptionId: '2' })).toBe(rows[0].matching)
  })

  it('[S21, O6] of waiting dead letters ends at its limit', async () => {
    const counted = (examinedMax: number) => countWaitingLetters(reads(), { withinS: 3_600, examinedMax })
    expect(await counted(ALL)).toEqual({ waiting: ROWS - ROWS / 10, more: false })
    const { waiting, more } = await counted(200)
    expect(more).toBe(true)
    expect(waiting).toBeGreaterThan(150)
    expect(waiting).toBeLessThanOrEqual(200)
  })
})

describe('one row in any range', () => {
  it.each([0, 150, 250, ROWS - 1])('[S21] (number %i) is found by its id', async (number) => {
    const eventId = idOf(number)
    const id = String(1 + ((number * 77) % ROWS))
    expect(await getDelivery(reads(), id)).toMatchObject({ id, eventId, attempts: [{ id }] })
    expect(await getDeadLetter(reads(), id)).toMatchObject({ id, eventId, deliveryId: id })
    expect(await getEvent(reads(), eventId)).toMatchObject({ id: eventId, deliveries: [{ id }] })
    expect(await getDelivery(reads(), String(ROWS + 1))).toBeNull()
    expect(await getDeadLetter(reads(), String(ROWS + 1))).toBeNull()
    const key = `key-${number}`
    await database.pool.query(
      `INSERT INTO sagapost.event_keys (key, event_id, fingerprint) VALUES ($1, $2, decode(repeat('00', 32), 'hex'))`,
      [key, eventId],
    )
    expect(idsOf((await listEvents(reads(), { idempotencyKey: key })).data)).toEqual([eventId])
  })

  it('[J3] the webhook ids of events of all ranges are read', async () => {
    const ids = Array.from({ length: ROWS }, (_, number) => idOf(number))
    expect([...(await readWebhookIds(reads(), ids)).keys()].sort()).toEqual([...ids].sort())
  })
})

/** The sixth time PostgreSQL may try one plan for all values. */
async function again(call: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 7; n++) await call()
}

const publish = `SELECT sagapost.publish('order.placed', '{"order": 7}')`

/** One of the oldest ranges, which are fewer than the others, and one of the next. */
async function requeueTwoBatches(pool: pg.Pool): Promise<void> {
  const { rows } = await database.pool.query(
    `UPDATE sagapost.saga_steps SET state = 1, attempts = 1 WHERE id = (
       SELECT saga_id || ':0' FROM sagapost.requeue_batches ORDER BY batch DESC LIMIT 1) RETURNING saga_id`,
  )
  for (let n = 0; n < 2; n++) {
    const batch = await requeueBatch(pool, rows[0].saga_id, 1)
    expect(batch?.progress.refused).toBe(0)
  }
}

type Read = (pool: pg.Pool) => Promise<unknown>
const calls: [string, DatabaseRole, Read][] = [
  ['events', 'saga_readonly_role', (pool) => listEvents(pool)],
  ['events by key', 'saga_readonly_role', (pool) => listEvents(pool, { idempotencyKey: 'key-0' })],
  ['one event', 'saga_readonly_role', (pool) => getEvent(pool, idOf(5))],
  ['one delivery', 'saga_readonly_role', (pool) => getDelivery(pool, '1')],
  ...(
    [
      {},
      { status: 'Completed' },
      { status: 'Pending' },
      { status: 'InProgress' },
      { status: 'DeadLettered' },
      { subscriptionId: '2' },
      { errorCode: 'http_501' },
      { eventId: '10003' },
      { eventType: 'type.1' },
      { eventType: 'type.1', subscriptionId: '2' },
    ] as const
  ).map((filter): [string, DatabaseRole, Read] => [
    `deliveries ${JSON.stringify(filter)}`,
    'saga_readonly_role',
    (pool) => listDeliveries(pool, { ...filter, limit: 200 }),
  ]),
  ['dead letters', 'saga_readonly_role', (pool) => listDeadLetters(pool, { limit: 200 })],
  ['one dead letter', 'saga_readonly_role', (pool) => getDeadLetter(pool, '1')],
  ['matching dead letters', 'saga_readonly_role', (pool) => countMatching(pool, { all: true })],
  [
    'waiting dead letters',
    'saga_readonly_role',
    (pool) => countWaitingLetters(pool, { withinS: 3_600, examinedMax: 500 }),
  ],
  ['processes', 'saga_readonly_role', (pool) => listProcesses(pool)],
  ['the backlog', 'saga_readonly_role', (pool) => createBacklogCollector(pool).collect()],
  ['cancelling', 'dead_letter_operator', (pool) => cancelDelivery(pool, '1')],
  ['requeueing one', 'dead_letter_operator', (pool) => again(() => requeueDeadLetter(pool, '1'))],
  ['requeueing by filter', 'dead_letter_operator', (pool) => requeueDeadLetters(pool, { all: true })],
  ['requeueing a batch', 'saga_app_role', requeueTwoBatches],
  [
    'events of gone receivers',
    'subscription_admin',
    (pool) => again(() => deactivateGoneSubscriptions(pool, 1_000)),
  ],
  ['publishing', 'event_publisher', (pool) => again(() => pool.query(publish, []))],
]

async function measure(): Promise<Record<string, number>> {
  const locks: Record<string, number> = {}
  for (const [name, role, call] of calls) {
    const counted = countLocks(database.url, role)
    await call(counted.pool).finally(counted.end)
    locks[name] = counted.most()
  }
  return locks
}

it('[S21, D4] a requeue by filter finds the dead letters of all ranges', async () => {
  const filter = { errorCode: 'http_502' }
  const matching = await countMatching(reads(), filter)
  expect(matching).toBeGreaterThan(100)
  const started = await requeueDeadLetters(database.as('dead_letter_operator'), filter)
  expect(started.matching).toBe(matching)
  const { rows } = await database.pool.query(
    `SELECT array_agg(batch ORDER BY batch) AS batches, sum(cardinality(letters))::int AS letters
     FROM sagapost.requeue_batches WHERE saga_id = $1`,
    [started.sagaId],
  )
  expect(rows).toEqual([{ batches: [0, 1, 2], letters: matching }])
})

it('[S21] deliveries of a type are found by event, also where a search stops in several ranges', async () => {
  // More events than one look examines in each of two groups, and few of them have a delivery.
  await database.pool.query(
    `INSERT INTO sagapost.events (id, event_type, created_at, payload)
     SELECT number / 70 * $1 + 100 + number % 70, 'type.sparse',
            sagapost.now() - (number * 1237 % 2801) * interval '1 second', '{}'
     FROM generate_series(0, 2799) AS number`,
    [WIDTH],
  )
  await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id)
     SELECT 100000 + id, id, 1 FROM sagapost.events WHERE event_type = 'type.sparse' AND id % 40 = 7`,
  )
  const { rows } = await database.pool.query(
    `SELECT saga.id FROM sagapost.webhook_delivery_sagas AS saga JOIN sagapost.events AS event ON event.id = event_id
     WHERE event_type = 'type.sparse' ORDER BY event.created_at DESC, event.id DESC`,
  )
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await listDeliveries(reads(), { eventType: 'type.sparse', limit: 200, cursor })
    seen.push(...idsOf(page.data))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  expect(seen).toEqual(idsOf(rows))
  expect(rows.length).toBeGreaterThan(50)
})

it('[S21] no read locks more partitions when there are more of them', async () => {
  const few = await measure()
  await addPartitions(database, WIDTH, FEW_RANGES, MANY_RANGES)
  // One partition more or less is in the groups that have rows; there are thirty more.
  for (const [name, locks] of Object.entries(await measure())) {
    expect(locks, name).toBeLessThanOrEqual((few[name] ?? 0) + RELATIONS)
  }
  expect(Math.max(...Object.values(few))).toBeLessThan(500)
})
