import { beforeAll, describe, expect, it } from 'vitest'
import { countDeadLetters } from '../../src/built-in-sagas/requeue-dead-letters.js'
import { selectDeadLetter } from '../../src/delivery/dead-letters/get-dead-letter.js'
import { selectDeadLetters } from '../../src/delivery/dead-letters/list-dead-letters.js'
import { selectDelivery } from '../../src/delivery/reading/get-delivery.js'
import { selectEvent } from '../../src/delivery/reading/get-event.js'
import { selectDeliveries, selectDeliveriesByError } from '../../src/delivery/reading/list-deliveries.js'
import { selectDeliveriesOfSubscription } from '../../src/delivery/reading/list-deliveries-of-subscription.js'
import {
  EXAMINED_MAX,
  selectDeliveriesOfType,
  selectOfType,
} from '../../src/delivery/reading/list-deliveries-of-type.js'
import { selectEventByKey, selectEvents } from '../../src/delivery/reading/list-events.js'
import {
  selectInProgressDeliveries,
  selectPendingDeliveries,
} from '../../src/delivery/reading/list-open-deliveries.js'
import { selectEventTimes } from '../../src/delivery/reading/read-webhook-ids.js'
import { selectWalkedDeliveries, WALKED_MAX } from '../../src/delivery/reading/walk-deliveries.js'
import { countNotRequeued } from '../../src/observability/live/count-waiting-letters.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead, explain } from '../support/explain.js'
import { narrowPartitions } from '../support/partitions.js'

const PARTITIONS = 4
/** A million takes minutes to write; the plans are the same. */
const WIDTH = Number(process.env['SAGAPOST_PLAN_ROWS'] ?? 200_000) / PARTITIONS
const ROWS = WIDTH * PARTITIONS - 1
/** Few rows have what a filter asks for, and all of them are among the oldest: a walk from the newest would read everything. */
const RARE = 60
/** Many rows, and all of them old: a planner that takes them for evenly spread would hope to meet some soon. */
const OLD = [10_001, 35_000] as const
/** What a page of 50 asks for. */
const PAGE = 51
/** A page, a row in hand from every partition that it is merged from, and as much again from a second table. */
const ROWS_READ_MAX = 2 * (RARE + PARTITIONS)

const database = useDatabase()

/**
 * 199,999 events over four partitions and an empty one, each with a delivery, a job and a dead letter of its own id;
 * every status but Completed, subscription 9, type.rare and the error `rare` are had by a few of the oldest only;
 * subscription 50, type.old, the error `old` and PendingRetry by the 25,000 of `OLD`. Rows are written as they would
 * stand after a while, past the guards.
 */
beforeAll(async () => {
  const { pool } = database
  await narrowPartitions(database, WIDTH, PARTITIONS + 1)
  await pool.query(
    `INSERT INTO sagapost.events (id, event_type, created_at, payload)
     SELECT id, CASE WHEN id % 100 = 9 AND id <= $2::int * 100 THEN 'type.rare'
                     WHEN id BETWEEN $3 AND $4 THEN 'type.old' ELSE 'type.' || id % 20 END,
            sagapost.now() - interval '30 days' + (id / 3) * interval '1 second', '{"order": 7}'
     FROM generate_series(1, $1::bigint) AS id`,
    [ROWS, RARE, ...OLD],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id, status, attempt_count, requeued_from, final_error_code)
     SELECT id, id, CASE WHEN id % 100 = 9 AND id <= $1::int * 100 THEN 9
                         WHEN id BETWEEN $2 AND $3 THEN 50 ELSE 100 + id % 20 END,
            (CASE WHEN id BETWEEN $2 AND $3 THEN 'PendingRetry' WHEN id > $1::int * 100 THEN 'Completed' WHEN id % 100 = 1 THEN 'Pending' WHEN id % 100 = 2 THEN 'InProgress'
                  WHEN id % 100 = 3 THEN 'PendingRetry' WHEN id % 100 = 4 THEN 'DeadLettered'
                  ELSE 'Completed' END)::sagapost.delivery_status,
            1, CASE WHEN id % 1000 = 9 THEN id END,
            CASE WHEN id BETWEEN $2 AND $3 THEN 'old' WHEN id <= $1::int * 100 AND id % 100 IN (3, 4) THEN 'rare' END
     FROM sagapost.events`,
    [RARE, ...OLD],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id, status, attempt)
     SELECT id, id, event_id, subscription_id,
            (CASE WHEN status <> 'InProgress' OR id % 300 = 2 THEN 'Completed' WHEN id % 200 = 2 THEN 'Pending'
                  ELSE 'Leased' END)::sagapost.job_status, CASE WHEN status = 'InProgress' THEN 2 ELSE 1 END
     FROM sagapost.webhook_delivery_sagas`,
  )
  await pool.query(
    `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
     SELECT array_agg(job.id), array_agg(job.event_id), min(job.event_id), max(job.event_id)
     FROM sagapost.webhook_delivery_jobs AS job JOIN sagapost.webhook_delivery_sagas AS saga ON saga.id = job.saga_id
     WHERE saga.status = 'InProgress' AND job.status = 'Completed' GROUP BY job.id / 5000`,
  )
  await pool.query(
    `INSERT INTO sagapost.dead_letters
       (id, saga_id, event_id, subscription_id, event_type, failed_at, final_error_code, payload_snapshot, attempt_count)
     SELECT id, id, id, subscription_id, event_type, event.created_at,
            CASE WHEN id % 100 = 9 AND id <= $1::int * 100 THEN 'rare' WHEN id BETWEEN $2 AND $3 THEN 'old'
                 ELSE 'http_500' END, '{}', 5
     FROM sagapost.events AS event JOIN sagapost.webhook_delivery_sagas AS saga USING (id)`,
    [RARE, ...OLD],
  )
  await pool.query('ANALYZE')
})

const readOnly = () => database.as('saga_readonly_role')
/** The empty partition ahead is no table of any size; the queue of results is read whole by whoever wants to see it. */
const empty = new RegExp(`_from_${PARTITIONS * WIDTH}$|^delivery_result_queue$`)

async function expectBounded(
  sql: string,
  values: unknown[],
  indexes: string[],
  rowsMax = ROWS_READ_MAX,
): Promise<void> {
  const plan = await explain(readOnly(), sql, values, empty)
  expect(plan.scanned).toEqual([])
  // In a partition where nothing matches any other index is as good; what counts is the rows below.
  expect(plan.indexes).toEqual(expect.arrayContaining(indexes))
  expect(await countRowsRead(readOnly(), sql, values)).toBeLessThanOrEqual(rowsMax)
}

/** The cursor after a row in the middle, in microseconds since 1970. */
async function middle(): Promise<[atUs: string, id: number]> {
  const id = ROWS / 2 + 0.5
  const { rows } = await database.pool.query(
    'SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS at_us FROM sagapost.events WHERE id = $1',
    [id],
  )
  return [rows[0].at_us, id]
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)

it('[S21] the filters match few rows of many', async () => {
  for (const [table, condition] of [
    ['webhook_delivery_sagas', `status = 'DeadLettered'`],
    ['webhook_delivery_sagas', `subscription_id = 9`],
    ['events', `event_type = 'type.rare'`],
    ['dead_letters', `final_error_code = 'rare'`],
  ]) {
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS all, count(*) FILTER (WHERE ${condition})::int AS few FROM sagapost.${table}`,
    )
    expect(rows[0]).toEqual({ all: ROWS, few: RARE })
  }
})

describe('a page of deliveries', () => {
  it.each<[string, (string | number | null)[], string]>([
    ['everything', [null, null, null, null], 'webhook_delivery_sagas_pkey'],
    ['everything, later', [ROWS / 2 + 0.5, null, null, null], 'webhook_delivery_sagas_pkey'],
    ['DeadLettered', [null, 'DeadLettered', null, null], 'idx_saga_failing'],
    ['PendingRetry, all old', [null, 'PendingRetry', null, null], 'idx_saga_failing'],
    ['DeadLettered, later', [RARE * 50, 'DeadLettered', null, null], 'idx_saga_failing'],
    ['one event', [null, null, 77, null], 'uniq_saga_event_subscription'],
    ['one event, DeadLettered', [null, 'DeadLettered', 4, null], 'uniq_saga_event_subscription'],
    ['one event, one subscription', [null, null, 77, 117], 'uniq_saga_event_subscription'],
    ['one event, a requeued one', [null, null, 1009, null], 'uniq_saga_event_subscription'],
    ['one event, one subscription, requeued', [null, null, 1009, 9], 'uniq_saga_event_subscription'],
    ['a small subscription, Completed', [null, 'Completed', null, 9], 'idx_saga_subscription'],
    ['a subscription without any, Completed', [null, 'Completed', null, 8], 'idx_saga_subscription'],
    ['a large subscription, Completed', [null, 'Completed', null, 107], 'idx_saga_subscription'],
    [
      'a large subscription, Completed, later',
      [ROWS / 2 + 0.5, 'Completed', null, 107],
      'idx_saga_subscription',
    ],
    [
      'a large subscription, DeadLettered',
      [null, 'DeadLettered', null, 104],
      'idx_saga_failing_subscription',
    ],
  ])('[S21] (%s) reads no more than a page', async (_, filters, index) => {
    await expectBounded(selectDeliveries, [...filters, PAGE, null], [index])
  })

  it.each<[string, (number | null)[]]>([
    ['a small subscription', [null, 9]],
    ['a subscription without any', [null, 8]],
    ['a large subscription', [null, 107]],
    ['a large subscription, all old', [null, 50]],
    ['a large subscription, later', [ROWS / 2 + 0.5, 107]],
  ])('[S21] (%s) reads no more than a page of each status and what is open', async (_, filters) => {
    const indexes = [
      'idx_saga_failing_subscription',
      'idx_saga_status',
      'idx_saga_subscription',
      'uniq_job_saga_active',
      'webhook_delivery_jobs_pkey',
    ]
    // Open: the Pending ones, the jobs of those in InProgress and, where a job is done, its delivery.
    const rowsMax = PAGE + PARTITIONS + 3 * RARE
    const values = [...filters, PAGE, WALKED_MAX, WALKED_MAX]
    await expectBounded(selectDeliveriesOfSubscription, values, indexes, rowsMax)
  })

  it.each<[string, (number | null)[], number]>([
    ['of all', [null, null], 51],
    ['later', [RARE * 50, null], 30],
    ['of one subscription', [null, 102], RARE],
    ['of one that has none', [null, 9], 0],
  ])('[S21] (Pending and InProgress, %s) reads no more than there are', async (_, filters, count) => {
    const values = [...filters, PAGE, WALKED_MAX]
    await expectBounded(selectPendingDeliveries, values, ['idx_saga_status'])
    const indexes = ['webhook_delivery_jobs_pkey', 'uniq_job_saga_active']
    // Their active jobs or their results, and the deliveries.
    await expectBounded(selectInProgressDeliveries, [...values, WALKED_MAX], indexes, 3 * RARE)
    const { rows } = await readOnly().query(selectInProgressDeliveries, [...values, WALKED_MAX])
    const ids = rows.filter(({ id }) => id !== null).map(({ id }) => Number(id))
    expect(ids).toHaveLength(Math.min(count, PAGE))
    expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  })

  it('[S21] (Completed) reads no more than a page of what is mostly Completed', async () => {
    const indexes = ['webhook_delivery_sagas_pkey']
    for (const before of [null, ROWS / 2 + 0.5]) {
      const values = [before, 'Completed', null, PAGE, WALKED_MAX]
      await expectBounded(selectWalkedDeliveries, values, indexes)
    }
  })

  it('[S21] (InProgress, counted by the view) reads no more than there are, and finds each once', async () => {
    const counting = 'SELECT count(*)::int AS count FROM sagapost.deliveries_in_progress'
    const indexes = ['webhook_delivery_jobs_pkey', 'webhook_delivery_sagas_pkey']
    // Their active jobs or their results, by whichever index of active jobs, and the deliveries.
    await expectBounded(counting, [], indexes, 3 * RARE + PARTITIONS)
    const { rows } = await readOnly().query(
      `SELECT (${counting}), (SELECT count(*)::int FROM sagapost.webhook_delivery_sagas WHERE status = 'InProgress') AS all`,
    )
    expect(rows[0]).toEqual({ count: RARE, all: RARE })
  })

  it('[S21] (Pending, of which there were many when the statistics were taken) reads no more than there are', async () => {
    const move = (status: string) =>
      database.pool.query(
        `UPDATE sagapost.webhook_delivery_sagas SET status = $1 WHERE id BETWEEN 40000 AND 49999`,
        [status],
      )
    await move('Pending')
    await database.pool.query('ANALYZE sagapost.webhook_delivery_sagas')
    await move('Completed')
    await expectBounded(selectPendingDeliveries, [null, null, PAGE, WALKED_MAX], ['idx_saga_status'])
  })

  it.each<[string, unknown[], string?]>([
    ['a rare error', [null, 'rare', null, null], 'idx_saga_failing_error'],
    ['a rare error, DeadLettered', [null, 'rare', null, 'DeadLettered'], 'idx_saga_failing_error'],
    ['a common error, all old', [null, 'old', null, null], 'idx_saga_failing_error'],
    ['a common error, later', [20_000, 'old', null, 'PendingRetry'], 'idx_saga_failing_error'],
    ['an error that none has', [null, 'none', null, null], 'idx_saga_failing_error'],
    [
      'a common error, a subscription that rarely has it',
      [null, 'old', 107, null],
      'idx_saga_failing_subscription_error',
    ],
    ['a common error, a large subscription', [null, 'old', 50, null], 'idx_saga_failing_subscription_error'],
    // By any of the three: there are few such deliveries in all.
    ['a rare error, a large subscription, DeadLettered', [null, 'rare', 104, 'DeadLettered']],
  ])('[S21] (%s) reads no more than a page', async (_, filters, index) => {
    await expectBounded(selectDeliveriesByError, [...filters, PAGE], index ? [index] : [])
  })

  it('[S21] (a common error, a large subscription, later) reads no more than match', async () => {
    // The planner takes filters that go together for independent: of a million it expects 25, fewer than a page, and
    // sorts what the index finds.
    const cursor = 20_000
    const values = [cursor, 'old', 50, 'PendingRetry', PAGE]
    await expectBounded(
      selectDeliveriesByError,
      values,
      ['idx_saga_failing_subscription_error'],
      cursor - OLD[0],
    )
  })

  it.each<[string, string]>([
    ['a rare type', 'type.rare'],
    ['a common type', 'type.7'],
    ['a common type, all old', 'type.old'],
    ['a type that no event has', 'type.none'],
  ])('[S21] (of %s) reads a bounded number of events and their deliveries', async (_, type) => {
    for (const eventsMax of [PAGE, EXAMINED_MAX]) {
      // An event and its delivery; three events share a time; a row in hand from every partition.
      const rowsMax = 2 * (eventsMax + 3 + PARTITIONS)
      const indexes = ['idx_event_type', 'uniq_saga_event_subscription']
      await expectBounded(selectDeliveriesOfType, [type, null, null, eventsMax, PAGE], indexes, rowsMax)
      await expectBounded(selectDeliveriesOfType, [type, 10_100, 1, eventsMax, PAGE], indexes, rowsMax)
    }
  })

  it('[S21] (of a type, among those of other filters) looks at no more events than deliveries', async () => {
    const ids = Array.from(
      { length: EXAMINED_MAX },
      (_, index) => 1 + index * Math.floor(ROWS / EXAMINED_MAX),
    )
    await expectBounded(selectOfType, [ids, 'type.7'], ['events_pkey'], EXAMINED_MAX)
  })

  it('[J3] the webhook ids of a page are read by key, one event each', async () => {
    const ids = Array.from({ length: PAGE }, (_, index) => 1 + index * Math.floor(ROWS / PAGE))
    await expectBounded(selectEventTimes, [ids], ['events_pkey'], PAGE)
  })

  it('[S21] (one event, an error) reads the deliveries of the event', async () => {
    await expectBounded(selectDeliveries, [null, null, 4, null, PAGE, 'rare'], [])
  })

  it('[S21] one delivery reads an index in every partition, and its jobs in one', async () => {
    await expectBounded(selectDelivery, [77], ['uniq_job_saga_attempt', 'webhook_delivery_sagas_pkey'])
  })
})

describe('a page of events', () => {
  it.each<[string, unknown[], string]>([
    ['everything', [null, null, null], 'idx_event_created'],
    ['a common type', ['type.7', null, null], 'idx_event_type'],
    ['a rare type', ['type.rare', null, null], 'idx_event_type'],
    ['a common type, all old', ['type.old', null, null], 'idx_event_type'],
    ['a type that no event has', ['type.none', null, null], 'idx_event_type'],
    ['long ago', [null, null, daysAgo(29.9)], 'idx_event_created'],
    ['a range', [null, daysAgo(29.5), daysAgo(29.4)], 'idx_event_created'],
    ['a type, long ago', ['type.7', null, daysAgo(29.9)], 'idx_event_type'],
  ])('[S21, E1] (%s) reads no more than a page, with a cursor or without', async (_, filters, index) => {
    await expectBounded(selectEvents, [null, null, ...filters, PAGE], [index])
    await expectBounded(selectEvents, [...(await middle()), ...filters, PAGE], [index])
  })

  it('[S21, E3] one event is found by its idempotency key', async () => {
    await database.pool.query(
      `INSERT INTO sagapost.event_keys (key, event_id, fingerprint)
       SELECT 'key-' || id, id, decode(repeat('00', 32), 'hex') FROM sagapost.events WHERE id <= 20000`,
    )
    await database.pool.query('ANALYZE sagapost.event_keys')
    await expectBounded(selectEventByKey, ['key-77', null, null, null], ['event_keys_pkey', 'events_pkey'])
  })

  it('[S21] one event reads one partition', async () => {
    const { relations, indexes } = await explain(readOnly(), selectEvent, [77, 1_000])
    expect({ relations, indexes }).toEqual({ relations: ['events_from_0'], indexes: ['events_pkey'] })
  })
})

describe('a page of dead letters', () => {
  it.each<[string, unknown[], string]>([
    ['everything', [null, null, null, null, null], 'idx_dead_failed'],
    ['a small subscription', [9, null, null, null, null], 'idx_dead_subscription'],
    ['a large subscription', [107, null, null, null, null], 'idx_dead_subscription'],
    ['a rare type', [null, null, 'type.rare', null, null], 'idx_dead_type'],
    ['a common type', [null, null, 'type.7', null, null], 'idx_dead_type'],
    ['a rare error', [null, 'rare', null, null, null], 'idx_dead_error'],
    ['a common error', [null, 'http_500', null, null, null], 'idx_dead_error'],
    ['a large subscription, all old', [50, null, null, null, null], 'idx_dead_subscription'],
    ['a common type, all old', [null, null, 'type.old', null, null], 'idx_dead_type'],
    ['a common error, all old', [null, 'old', null, null, null], 'idx_dead_error'],
    ['a common type with a rare error', [null, 'rare', 'type.9', null, null], 'idx_dead_error'],
    ['long ago', [null, null, null, null, daysAgo(29.9)], 'idx_dead_failed'],
    [
      'a large subscription, long ago',
      [107, null, null, daysAgo(31), daysAgo(29.9)],
      'idx_dead_subscription',
    ],
  ])('[S21, D1] (%s) reads no more than a page, with a cursor or without', async (_, filters, index) => {
    const indexes = [index, 'uniq_saga_requeued_from']
    await expectBounded(selectDeadLetters, [null, null, ...filters, PAGE], indexes)
    await expectBounded(selectDeadLetters, [...(await middle()), ...filters, PAGE], indexes)
  })

  it.each<[string, unknown[], string]>([
    ['a small subscription', [9, null, null, null, null], 'idx_dead_subscription'],
    ['a rare type', [null, 'type.rare', null, null, null], 'idx_dead_type'],
    ['a rare error', [null, null, 'rare', null, null], 'idx_dead_error'],
  ])('[S21, D4] (%s) those that a requeue would find are counted by indexes', async (_, filters, index) => {
    const empty = new RegExp(`_from_${WIDTH * PARTITIONS}$`)
    const plan = await explain(readOnly(), countDeadLetters, filters, empty)
    expect(plan.scanned).toEqual([])
    expect(plan.indexes).toEqual(expect.arrayContaining([index, 'uniq_saga_requeued_from']))
    const { rows } = await readOnly().query(countDeadLetters, filters)
    // One in ten of them was requeued.
    expect(rows).toEqual([{ matching: RARE - RARE / 10 }])
  })

  it('[S21, O6] the newest that were not requeued are counted by indexes', async () => {
    await expectBounded(
      countNotRequeued,
      [86_400 * 3_650, PAGE, 0, WIDTH * PARTITIONS],
      ['idx_dead_failed', 'uniq_saga_requeued_from'],
    )
  })

  it('[S21] one dead letter reads an index in every partition, and its delivery in one', async () => {
    await expectBounded(selectDeadLetter, [77, 1_000], ['dead_letters_pkey', 'uniq_saga_requeued_from'])
  })
})
