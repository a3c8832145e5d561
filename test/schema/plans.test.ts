import { beforeAll, describe, expect, it } from 'vitest'
import { inRange } from '../../src/database/index.js'
import { pinnedPlans } from '../../src/database/role-pool.js'
import { selectAnswered } from '../../src/delivery/breakers/recall-answers.js'
import { reset } from '../../src/delivery/cleaner/reset-leases.js'
import { applyNewResults, deadLetter, takeResults } from '../../src/delivery/orchestrator/apply-results.js'
import { endCancelled, endDeleted } from '../../src/delivery/orchestrator/end-stopped.js'
import { lookAhead } from '../../src/delivery/orchestrator/look-ahead.js'
import {
  makeFirstJobs,
  makeJobsPastBacklog,
  makeRetryJobs,
} from '../../src/delivery/orchestrator/make-jobs.js'
import { makeSagas } from '../../src/delivery/router/make-sagas.js'
import { takeEvents, takePassing } from '../../src/delivery/router/route-events.js'
import { claim } from '../../src/delivery/worker/claim-jobs.js'
import { findOldestFree } from '../../src/delivery/worker/find-probes.js'
import { selectReported } from '../../src/delivery/worker/find-reported.js'
import { selectWaiting } from '../../src/delivery/worker/find-waiting.js'
import { releaseLeased } from '../../src/delivery/worker/release-claims.js'
import { report } from '../../src/delivery/worker/report-results.js'
import { takeCancelled, takeFree, takeHeld } from '../../src/delivery/worker/take-stopped.js'
import { readBacklog, readBacklogOfSpan } from '../../src/observability/backlog/backlog-collector.js'
import { selectLeases } from '../../src/observability/system/list-processes.js'
import { useDatabase } from '../support/database.js'
import { explain, explainPrepared } from '../support/explain.js'
import { narrowPartitions } from '../support/partitions.js'

const WIDTH = 100_000
const CLOSED_PARTITIONS = 4
const CLOSED_EVENTS = 25_000
const HOT_EVENTS = 99_000
const HOT_FROM = CLOSED_PARTITIONS * WIDTH
/** The fresh range, as a part knows it: the hot partition, and the empty one ahead. */
const range = { from: String(HOT_FROM), to: String(HOT_FROM + 2 * WIDTH) }
const bounds = [range.from, range.to]
const allIds = [0, '9223372036854775807']
const TOKEN = '00000000-0000-4000-8000-000000000000'
const BATCH = 200

const database = useDatabase()

/**
 * Four closed partitions of 25,000 deliveries, 97 % Completed and 3 % DeadLettered, and a hot one of 99,000
 * of which 95 % are done, 2 % wait for their first job, 1 % for their retry and 2 % are under way; two empty
 * ones ahead. Rows are written as they would stand after a while, past the guards.
 */
beforeAll(async () => {
  const { pool } = database
  await narrowPartitions(database, WIDTH, CLOSED_PARTITIONS + 3)
  await pool.query(
    `INSERT INTO sagapost.events (id, event_type, created_at, payload)
     SELECT id, 'type.' || id % 500, sagapost.now() - interval '30 days' + id * interval '1 second', '{"order": 7}'
     FROM (
       SELECT closed * $1::bigint + n AS id FROM generate_series(0, $2 - 1) AS closed, generate_series(1, $3::int) AS n
       UNION ALL SELECT $4::bigint + n FROM generate_series(0, $5 - 1) AS n
     ) AS ids`,
    [WIDTH, CLOSED_PARTITIONS, CLOSED_EVENTS, HOT_FROM, HOT_EVENTS],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas
       (id, event_id, subscription_id, status, attempt_count, next_attempt_at, requeued_from)
     SELECT id, id, id % 500,
            (CASE WHEN id >= $1 AND id % 100 IN (1, 2) THEN 'Pending' WHEN id >= $1 AND id % 100 = 3 THEN 'PendingRetry'
                  WHEN id >= $1 AND id % 100 IN (4, 5) THEN 'InProgress' WHEN id % 100 IN (6, 7, 8) THEN 'DeadLettered'
                  ELSE 'Completed' END)::sagapost.delivery_status,
            1, created_at + interval '30 days' - interval '1 hour' + (id % 7) * interval '20 minutes',
            CASE WHEN id % 1000 = 9 THEN id END
     FROM sagapost.events`,
    [HOT_FROM],
  )
  await pool.query(
    `INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id, status, lease_until)
     SELECT id, id, event_id, subscription_id,
            (CASE WHEN event_id >= $1 AND id % 100 = 4 THEN 'Pending' WHEN event_id >= $1 AND id % 200 = 5 THEN 'Leased'
                  WHEN saga.status IN ('PendingRetry', 'DeadLettered') THEN 'Failed' ELSE 'Completed' END)::sagapost.job_status,
            sagapost.now() + (id % 5 - 3) * interval '10 seconds'
     FROM sagapost.webhook_delivery_sagas AS saga WHERE saga.status <> 'Pending'`,
    [HOT_FROM],
  )
  await pool.query(
    `INSERT INTO sagapost.dead_letters (id, saga_id, event_id, subscription_id, event_type, payload_snapshot, attempt_count)
     SELECT id, id, event_id, subscription_id, 'type.1', '{}', 5
     FROM sagapost.webhook_delivery_sagas WHERE status = 'DeadLettered'`,
  )
  await pool.query(
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
     SELECT 'type.' || n % 500, 'https://receiver.example/' || n, n % 10 <> 0, true FROM generate_series(1, 5000) AS n`,
  )
  await pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [HOT_FROM + HOT_EVENTS])
  await pool.query('ANALYZE')
  await fillQueues()
})

const hot = (...tables: string[]) => tables.map((table) => `${table}_from_${HOT_FROM}`).sort()

/** The two empty partitions ahead are no tables of any size; the parents are no tables at all. */
const emptyOrParent = /_from_[56]00000$|^(events|webhook_delivery_sagas|webhook_delivery_jobs|dead_letters)$/
const planOf = (sql: string, values: unknown[]) => explain(database.pool, sql, values, emptyOrParent)
/**
 * Subscriptions are configuration, a few thousand rows: the planner may read them whole, as it may what is being cancelled or
 * was switched a short while ago. The queues: see below.
 */
const notHot = new RegExp(
  `${emptyOrParent.source}|^subscriptions$|_queue$|^delivery_cancellations|^subscription_switches`,
)
const hotPlanOf = (sql: string, values: readonly unknown[]) =>
  explain(database.pool, sql, [...values], notHot)

async function fillQueues(): Promise<void> {
  await database.pool.query(
    `INSERT INTO sagapost.event_routing_queue (event_type, event_ids)
     SELECT event_type, ARRAY[id] FROM sagapost.events WHERE id >= $1 AND id % 10 = 0`,
    [HOT_FROM],
  )
  await database.pool.query(
    `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
     SELECT ARRAY[id], ARRAY[event_id], event_id, event_id FROM sagapost.webhook_delivery_jobs WHERE event_id >= $1 AND id % 10 = 0`,
    [HOT_FROM],
  )
  await database.pool.query('ANALYZE sagapost.event_routing_queue, sagapost.delivery_result_queue')
}

/** With it, each of the 5,000 deliveries of one event would be looked for among all 5,000. */
const byEvent = 'uniq_saga_event_subscription'

/** The statements that the parts run, as they stand in src: what they take after the bounds. */
const statements = [
  [
    'S21, S16',
    'making first jobs',
    'idx_saga_status',
    { sql: makeFirstJobs, more: [BATCH], tables: ['webhook_delivery_sagas'] },
  ],
  [
    'S21, S16',
    'making first jobs past a backlog',
    'webhook_delivery_sagas_pkey',
    { sql: makeJobsPastBacklog, more: [BATCH, '0'], tables: ['webhook_delivery_sagas'] },
  ],
  [
    'S21, S10',
    'making retry jobs',
    'idx_saga_status_retry',
    { sql: makeRetryJobs, more: [BATCH, 5], tables: ['webhook_delivery_jobs', 'webhook_delivery_sagas'] },
  ],
  [
    'J9, J4',
    'claiming',
    'idx_job_status_lease',
    {
      sql: claim,
      more: [BATCH, 60_000, 'worker', [], '-infinity', null, TOKEN],
      tables: ['events', 'webhook_delivery_jobs'],
    },
  ],
  [
    'S21, S10',
    'looking ahead',
    'idx_saga_status_retry',
    { sql: lookAhead, more: [], tables: ['webhook_delivery_sagas'] },
  ],
  [
    'J9, J3',
    'finding probes',
    'idx_job_status_lease',
    { sql: findOldestFree, more: [['7']], tables: ['webhook_delivery_jobs'] },
  ],
  [
    'J9, J3',
    'finding who waits',
    'idx_job_status_lease',
    { sql: selectWaiting, more: ['-infinity', BATCH], tables: ['webhook_delivery_jobs'] },
  ],
  [
    'J9, J4',
    'giving back a claim whose answer was lost',
    'idx_job_status_lease',
    { sql: releaseLeased, more: [[TOKEN]], tables: ['webhook_delivery_jobs'] },
  ],
  [
    'J9, J8',
    'resetting leases',
    'idx_job_status_lease',
    { sql: reset, more: [BATCH, 3], tables: ['webhook_delivery_jobs'] },
  ],
  [
    'S21, S4',
    'applying results',
    'webhook_delivery_jobs_pkey',
    {
      sql: applyNewResults,
      more: [['1', '2'], 5, 30_000, 3_600_000, 86_400, ['1', '2', '3'], ['1', '2', '3']],
      tables: ['webhook_delivery_jobs', 'webhook_delivery_sagas'],
    },
  ],
] as const

describe('bounded queries of the hot path', () => {
  it('[S21] there are more than 100,000 sagas and jobs, in several partitions', async () => {
    for (const table of ['webhook_delivery_sagas', 'webhook_delivery_jobs']) {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int, count(DISTINCT tableoid)::int AS partitions FROM sagapost.${table}`,
      )
      expect(rows[0].count).toBeGreaterThan(100_000)
      expect(rows[0].partitions).toBe(CLOSED_PARTITIONS + 1)
    }
  })

  // The index that finds the work; the rows found are then reached by a key of theirs.
  it.each(statements)(
    '[S21, J9] %s: %s finds its work by %s and touches the hot partition only',
    async (_rule, _name, index, statement) => {
      const plan = await hotPlanOf(inRange(statement.sql, range), [...bounds, ...statement.more])
      expect(plan.indexes).toContain(index)
      expect(plan.indexes).not.toContain(byEvent)
      expect(plan.relations).toEqual(hot(...statement.tables))
      expect(plan.scanned).toEqual([])
    },
  )

  it.each(statements.filter(([, , , { sql }]) => [claim, makeFirstJobs, applyNewResults].includes(sql)))(
    '[S21, J9] %s: %s as a prepared statement keeps finding its work by %s, and scans nothing',
    async (_rule, _name, index, statement) => {
      const plan = await explainPrepared(
        database.pool,
        inRange(statement.sql, range),
        [...bounds, ...statement.more],
        notHot,
      )
      expect(plan.indexes).toContain(index)
      expect(plan.indexes).not.toContain(byEvent)
      expect(plan.scanned).toEqual([])
    },
  )

  it('[J9, J8] the leases of all processes are found by idx_job_status_lease', async () => {
    const plan = await explain(database.pool, selectLeases, [10_000, ...allIds], /_from_[56]00000$/)
    expect(plan.indexes).toEqual(['idx_job_status_lease'])
    expect(plan.scanned).toEqual([])
  })

  it('[S21, R1] the router and the orchestrator take from their queues by the key, as prepared statements too', async () => {
    for (const take of [takeEvents, takePassing]) {
      const settled = await explainPrepared(database.pool, take, [BATCH], /^subscription_version$/)
      expect(settled).toMatchObject({ indexes: ['event_routing_queue_pkey'], scanned: [] })
    }
    const results = await explainPrepared(database.pool, takeResults, [BATCH, []])
    expect(results).toMatchObject({ indexes: ['delivery_result_queue_pkey'], scanned: [] })
    const ids = Array.from({ length: BATCH }, (_, index) => String(HOT_FROM + index))
    const values = [ids, ids, ids.map(() => '1'), ids.map(() => null)]
    const made = await explainPrepared(database.pool, makeSagas, values, emptyOrParent)
    expect(made).toMatchObject({ indexes: ['event_routing_queue_pkey'], scanned: [] })
  })

  it('[J5] the report touches the hot partition only, by an index', async () => {
    const ids = Array.from({ length: BATCH }, (_, index) => String(HOT_FROM + index))
    const of = <Value>(value: Value) => ids.map(() => value)
    const token = '00000000-0000-4000-8000-000000000000'
    const values = [...bounds, ids, ids, of(token), of(null), of(200), of(null), of(5), of('ok')]
    const plan = await hotPlanOf(inRange(report, range), values)
    expect(plan.relations).toEqual(hot('webhook_delivery_jobs'))
    expect(plan.scanned).toEqual([])
    const settled = await explainPrepared(database.pool, inRange(report, range), values, emptyOrParent)
    expect(settled.indexes).toEqual(['webhook_delivery_jobs_pkey'])
    expect(settled.scanned).toEqual([])
  })

  it('[J5] an earlier report is found by its key, in the hot partition only', async () => {
    const ids = Array.from({ length: BATCH }, (_, index) => String(HOT_FROM + index))
    const plan = await hotPlanOf(inRange(selectReported, range), [...bounds, ids, ids, ids.map(() => TOKEN)])
    expect(plan.relations).toEqual(hot('webhook_delivery_jobs'))
    expect(plan.indexes).toEqual(['webhook_delivery_jobs_pkey'])
    expect(plan.scanned).toEqual([])
  })

  it('[S17, S21] dead-lettering touches the hot partition only, by an index', async () => {
    const ids = Array.from({ length: BATCH }, (_, index) => String(HOT_FROM + index))
    const plan = await hotPlanOf(inRange(deadLetter, range), [...bounds, ids, ids, ids.map(() => null)])
    expect(plan.relations).toEqual(hot('webhook_delivery_sagas'))
    expect(plan.indexes).not.toContain(byEvent)
    expect(plan.scanned).toEqual([])
  })
})

describe('the sweep without bounds', () => {
  it.each(statements)(
    '[S21, J9] %s: %s reads every partition through %s and scans none',
    async (_rule, _name, index, statement) => {
      const plan = await hotPlanOf(statement.sql, [0, '9223372036854775807', ...statement.more])
      const table = /^idx_saga|sagas_pkey$/.test(index) ? 'webhook_delivery_sagas' : 'webhook_delivery_jobs'
      const met = plan.relations.filter((name) => name.startsWith(`${table}_from_`))
      expect(met).toHaveLength(CLOSED_PARTITIONS + 1)
      expect(plan.indexes).toContain(index)
      expect(plan.indexes).not.toContain(byEvent)
      expect(plan.scanned).toEqual([])
    },
  )
})

describe('stopping', () => {
  const taking = [BATCH, 60_000, TOKEN, 'worker']
  it.each([
    ['what waits of deleted subscriptions', endDeleted, [BATCH], 'idx_saga_failing_subscription'],
    ['cancelled deliveries that wait', endCancelled, [BATCH], 'webhook_delivery_sagas_pkey'],
    ['free jobs', takeFree, [...taking, ['1', '2'], '-infinity'], 'idx_job_status_lease'],
    ['held jobs', takeHeld, [...taking, ['1', '2']], 'idx_job_status_lease'],
    ['jobs of cancelled deliveries', takeCancelled, taking, 'uniq_job_saga_active'],
  ])(
    '[S21, J9] %s are found by an index, as the parts plan it, and nothing is scanned',
    async (_, sql, values, index) => {
      const client = await database.pool.connect()
      try {
        for (const [name, value] of Object.entries(pinnedPlans)) await client.query(`SET ${name} = ${value}`)
        const plan = await explain(client, inRange(sql, range), [...bounds, ...values], notHot)
        expect(plan.indexes).toContain(index)
        expect(plan.scanned).toEqual([])
      } finally {
        client.release(true)
      }
    },
  )
})

describe('the backlog, at every scrape', () => {
  it('[S21, J9, O5] is counted by the indexes of open work, of all partitions, and scans none', async () => {
    const plan = await planOf(readBacklogOfSpan, [100_000, ...allIds])
    // They hold the same jobs as idx_job_status_lease and the same retries as idx_saga_status_retry: where a partition
    // has none, or order does not matter, either will do, and the statistics' sample decides.
    const same = ['uniq_job_saga_active', 'idx_saga_failing']
    expect(plan.indexes.filter((name) => !same.includes(name))).toEqual([
      'idx_job_status_lease',
      'idx_saga_status',
      'idx_saga_status_retry',
    ])
    // One holds failing subscriptions only, and is read whole by every worker each second; the other what an operator has
    // to look at. There are no general sagas here: saga-list-plans.test.ts has many.
    expect(new Set(plan.scanned)).toEqual(new Set(['subscription_breakers']))
    const other = await planOf(readBacklog, [100_000])
    expect(other.indexes).toEqual(['delivery_result_queue_pkey', 'event_routing_queue_pkey'])
    expect(other.scanned.filter((name) => name !== 'saga_instances')).toEqual(['set_aside_events'])
  })
})

describe('look-ups', () => {
  it('[J3] whether endpoints have answered is read from idx_saga_subscription', async () => {
    const plan = await planOf(inRange(selectAnswered, range), [...bounds, ['1', '2', '3']])
    expect(plan).toMatchObject({ indexes: ['idx_saga_subscription'], scanned: [] })
  })

  const recent = `created_at > sagapost.now() - interval '31 days' AND id <> $1 ORDER BY created_at LIMIT 50`
  it.each([
    [
      'S2',
      ['uniq_saga_event_subscription'],
      `SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 AND subscription_id = 6`,
    ],
    [
      'S2',
      ['uniq_saga_event_subscription'],
      `SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = $1`,
    ],
    [
      'S2',
      ['idx_saga_event'],
      `SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 AND requeued_from > 0`,
    ],
    ['S2', ['webhook_delivery_sagas_pkey'], `SELECT * FROM sagapost.webhook_delivery_sagas WHERE id = $1`],
    [
      'D4',
      ['uniq_saga_requeued_from'],
      `SELECT * FROM sagapost.webhook_delivery_sagas WHERE requeued_from = $1`,
    ],
    [
      'J2',
      ['uniq_job_saga_attempt'],
      `SELECT * FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1 ORDER BY attempt_at`,
    ],
    // Two indexes begin with saga_id: the named one, and the unique key that holds D3.
    ['D1', ['idx_dead_saga', 'uniq_dead_saga'], `SELECT * FROM sagapost.dead_letters WHERE saga_id = $1`],
    ['D1', ['idx_dead_event'], `SELECT * FROM sagapost.dead_letters WHERE event_id = $1`],
    ['E1', ['idx_event_type'], `SELECT * FROM sagapost.events WHERE event_type = 'type.1' AND ${recent}`],
    ['E1', ['idx_event_created'], `SELECT * FROM sagapost.events WHERE ${recent}`],
    [
      'R2',
      ['idx_sub_event_type'],
      `SELECT * FROM sagapost.subscriptions WHERE event_type = 'type.' || $1::text`,
    ],
  ] as const)('[%s] use %j', async (_rule, indexes, sql) => {
    const plan = await planOf(sql, [HOT_FROM + 6])
    expect(plan.indexes).toHaveLength(1)
    expect(indexes).toContain(plan.indexes[0])
    expect(plan.scanned).toEqual([])
  })
})
