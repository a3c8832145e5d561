import { expect, it } from 'vitest'
import { createRolePool, type DatabaseRole } from '../../src/database/index.js'
import { applyNewResults } from '../../src/orchestrator/apply-results.js'
import { makeFirstJobs, makeRetryJobs } from '../../src/orchestrator/make-jobs.js'
import { claim } from '../../src/worker/claim-jobs.js'
import { reset } from '../../src/worker/reset-leases.js'
import { useDatabase } from '../support/database.js'
import { countRowsReadWhenPreparedBefore } from '../support/explain.js'

/** Of each kind, that wait. */
const WAITING = 500
const TOKEN = '00000000-0000-4000-8000-000000000000'
const BATCH = 50
/** A row is found, changed, and joined with its event, saga or subscription; once in each partition of the window. */
const ROWS_READ_MAX = BATCH * 10

const database = useDatabase()
const window = [0, 2_000_000]

/** Work for every statement: a saga without a job, one whose retry is due, a free job, a result, a lost lease. */
async function fill(): Promise<void> {
  const { pool } = database
  const kinds = [
    ['Pending', null],
    ['PendingRetry', null],
    ['InProgress', 'Pending'],
    ['InProgress', 'Completed'],
    ['InProgress', 'Leased'],
  ]
  for (const table of ['webhook_delivery_sagas', 'webhook_delivery_jobs']) {
    await pool.query(`ALTER TABLE sagapost.${table} DISABLE TRIGGER ALL`)
  }
  await pool.query(
    `INSERT INTO sagapost.subscriptions (id, event_type, callback_url, active, verified)
     VALUES (1, 'a', 'https://receiver.example/', true, true)`,
  )
  for (const [index, [saga, job]] of kinds.entries()) {
    await pool.query(
      `WITH event AS (
         INSERT INTO sagapost.events (id, event_type, payload)
         SELECT id, 'a', '{}' FROM generate_series($1::int, $2::int) AS id RETURNING id
       ), saga AS (
         INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id, status)
         SELECT id, id, 1, $3::sagapost.delivery_status FROM event
       )
       INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, status, lease_until)
       SELECT id, id, 1, $4::sagapost.job_status, sagapost.now() - interval '1 minute' FROM event WHERE $4 IS NOT NULL`,
      [index * WAITING + 1, (index + 1) * WAITING, saga, job],
    )
  }
  await database.pool.query(
    `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
     SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id) FROM (
       SELECT id, event_id, row_number() OVER (ORDER BY id) / ($1::int / 2) AS part
       FROM sagapost.webhook_delivery_jobs WHERE status = 'Completed') AS finished
     GROUP BY part ORDER BY part`,
    [BATCH],
  )
}

/** Results are of the second jobs that are filled in, and of the fourth events. */
function idsAfter(last: number): string[] {
  return Array.from({ length: BATCH }, (_, index) => String(last + index + 1))
}

const statements: [string, DatabaseRole, string, unknown[]][] = [
  ['making first jobs', 'saga_orchestrator', makeFirstJobs, [...window, BATCH]],
  ['making retry jobs', 'saga_orchestrator', makeRetryJobs, [...window, BATCH, 5]],
  ['claiming', 'job_worker', claim, [...window, BATCH, 60_000, 'worker', [], '-infinity', null, TOKEN]],
  [
    'applying results',
    'saga_orchestrator',
    applyNewResults,
    [...window, ['1', '2'], 5, 30_000, 3_600_000, 86_400, idsAfter(WAITING), idsAfter(3 * WAITING)],
  ],
  ['resetting leases', 'job_worker', reset, [...window, BATCH, 3]],
]

// A plan that was made for an empty partition stays until its first statistics are there, a minute or more.
it('[S16, J8, J9] work in a new partition costs what is moved, not what waits there', async () => {
  const prepared = []
  for (const [name, role, statement, values] of statements) {
    const pool = createRolePool({ databaseUrl: database.url, role, connectionsMax: 1, pinnedPlans: true })
    prepared.push({ name, pool, count: await countRowsReadWhenPreparedBefore(pool, statement, values) })
  }
  await fill()
  const read: Record<string, number> = {}
  for (const { name, pool, count } of prepared) {
    read[name] = await count()
    await pool.end()
  }
  const wrong = Object.entries(read).filter(([, rows]) => rows < BATCH || rows > ROWS_READ_MAX)
  expect(wrong).toEqual([])
})
