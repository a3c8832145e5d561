import type pg from 'pg'
import { type EventRange, inRange, isRefusal, prepared } from '../../database/index.js'
import {
  type DeadDelivery,
  hasEvent,
  hasNoActiveJob,
  lastJobColumns,
  selectFailedJobs,
  toDead,
} from './dead-delivery.js'
import { stopOf } from './stop-of.js'

export interface MadeJobs {
  first: number
  retries: number
  /** Deliveries that waited for a retry and end instead: their limit was lowered [S15], or they were stopped. */
  dead: DeadDelivery[]
}

// [S16 a] Sagas that have no job yet, by idx_saga_status. `attempt` and the times are the columns' defaults. `lazily`:
// this commit need not wait for the disk. Should a crash lose it, the sagas are Pending again, and get their jobs again.
// Rows that are known are reached by their key and in no other way, here and in all statements of this kind. To a planner
// that knows a partition as new, empty or small, reading all of it looks as cheap as a key, and the plan is kept while it
// fills: 50 first jobs read 25,250 rows. With pinnedPlans (database/role-pool.ts) an index is the only way in, and
// there are two ways to read one as a whole, which are taken away as well: by bounds (these are roundabout: they rule
// out partitions, but no index can be read by them), and for its order, which a plain `=` would make seem of use for a
// merge join: `= ANY (ARRAY[…])` can be looked up, and no more (test/schema/fresh-partition-plans.test.ts).
// `event_id + 0`: in a statement that locks rows, partitions are left out by the bounds, when it begins, and never while
// it runs. PostgreSQL 18 up to 18.4 crashes otherwise, once a row that is to be locked was changed meanwhile.
const moveAndMake = `moved AS (
    UPDATE sagapost.webhook_delivery_sagas AS saga SET status = 'InProgress', updated_at = sagapost.now()
    FROM due
    WHERE saga.id = ANY (ARRAY[due.id]) AND saga.event_id + 0 = due.event_id
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
  )`
const insertJobs = `
  INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, correlation_id)
  SELECT id, event_id, subscription_id, correlation_id FROM lazily CROSS JOIN due`
export const makeFirstJobs = prepared(`
  WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
  ), due AS MATERIALIZED (
    SELECT id, event_id, subscription_id, correlation_id FROM sagapost.webhook_delivery_sagas AS saga
    WHERE status = 'Pending' AND (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)
    LIMIT $3 FOR UPDATE SKIP LOCKED
  ), ${moveAndMake}${insertJobs}`)

/** Limits of one look past a backlog: deliveries it reads in all, and first jobs it makes per subscription. */
const LOOKED_AT_MAX = 10_000
const PER_SUBSCRIPTION = 20
// The same for sagas that were made since an earlier look, $4, by webhook_delivery_sagas_pkey: all subscriptions in turn,
// a few of each. What is published while another subscription has a backlog does not wait for all of it.
export const makeJobsPastBacklog = prepared(`
  WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
  ), last AS MATERIALIZED (
    SELECT max(id) AS id FROM sagapost.webhook_delivery_sagas
    WHERE (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)
  ), newest AS MATERIALIZED (
    SELECT id, event_id, row_number() OVER (PARTITION BY subscription_id ORDER BY id) AS place
    FROM sagapost.webhook_delivery_sagas
    WHERE status::text = 'Pending' AND (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)
      AND id > greatest($4, (SELECT id FROM last) - ${LOOKED_AT_MAX})
  ), due AS MATERIALIZED (
    SELECT saga.id, saga.event_id, subscription_id, correlation_id
    FROM newest JOIN sagapost.webhook_delivery_sagas AS saga
      ON saga.id = ANY (ARRAY[newest.id]) AND saga.event_id + 0 = newest.event_id
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
    WHERE place <= ${PER_SUBSCRIPTION} AND saga.status::text = 'Pending'
    ORDER BY place LIMIT $3 FOR UPDATE OF saga SKIP LOCKED
  ), ${moveAndMake}, made AS (${insertJobs}
  )
  SELECT (SELECT count(*) FROM due)::int AS made, id AS last FROM last`)

// [S16 b, S10, S12] Sagas whose retry is due, oldest first by idx_saga_status_retry: a new job under the limit,
// the end at it, or when nothing more is to be sent. The last job is looked up for those that end, by idx_job_saga.
const retryThose = (where: string) =>
  prepared(`
  WITH due AS MATERIALIZED (
    SELECT id, event_id, subscription_id, correlation_id, attempt_count, final_error_code
    FROM sagapost.webhook_delivery_sagas AS saga
    WHERE status = 'PendingRetry' AND next_attempt_at <= sagapost.now()
      AND (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)${where}
    ORDER BY next_attempt_at LIMIT $3 FOR UPDATE OF saga SKIP LOCKED
  ), decided AS MATERIALIZED (
    SELECT due.id, event_id, subscription_id, correlation_id, attempt_count, coalesce(stop, final_error_code) AS error_code,
           stop IS NULL AND attempt_count < coalesce(max_attempts, $4) AS retry
    FROM (
      SELECT due.*, subscription.max_attempts, ${stopOf('due.id', 'subscription.deleted_at IS NOT NULL')} AS stop
      FROM due LEFT JOIN sagapost.subscriptions AS subscription ON subscription.id = ANY (ARRAY[due.subscription_id])
    ) AS due
  ), moved AS (
    UPDATE sagapost.webhook_delivery_sagas AS saga
    SET status = (CASE WHEN decided.retry THEN 'InProgress' ELSE 'DeadLettered' END)::sagapost.delivery_status,
        final_error_code = decided.error_code, updated_at = sagapost.now()
    FROM decided
    WHERE saga.id = ANY (ARRAY[decided.id]) AND saga.event_id + 0 = decided.event_id
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
  ), made AS (
    INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, correlation_id, attempt)
    SELECT id, event_id, subscription_id, correlation_id, attempt_count + 1 FROM decided WHERE retry
  )
  SELECT decided.*, ${lastJobColumns}
  FROM decided LEFT JOIN LATERAL (${selectFailedJobs('decided')} AND NOT decided.retry
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
    ORDER BY attempt DESC LIMIT 1
  ) AS last_job ON true`)
export const makeRetryJobs = retryThose('')
/**
 * Used after the database refused a batch: skips deliveries whose event is gone or that already have a job, so that
 * they do not delay the others.
 */
const makePossibleRetryJobs = retryThose(` AND ${hasEvent} AND ${hasNoActiveJob}`)

export interface MakeJobsOptions {
  range: EventRange
  batchMax: number
  /** The default limit of attempts per delivery. */
  limit: number
  first?: boolean
  retries?: boolean
}

/** Creates first and retry jobs under the role saga_orchestrator, in one transaction each. */
export async function makeJobs(
  pool: pg.Pool,
  { range, batchMax, limit, first = true, retries = true }: MakeJobsOptions,
): Promise<MadeJobs> {
  const bounds = [range.from, range.to, batchMax]
  const made = first ? await pool.query(inRange(makeFirstJobs, range), bounds) : { rowCount: 0 }
  const { rows } = retries ? await retryDue(pool, range, [...bounds, limit]) : { rows: [] }
  const dead = rows.filter(({ retry }) => !retry)
  return { first: made.rowCount ?? 0, retries: rows.length - dead.length, dead: dead.map(toDead) }
}

/**
 * Creates first jobs for deliveries after `pastSaga`, a few per subscription, while a backlog is ahead of them. `last`
 * is where the next look starts; null when there are no deliveries.
 */
export async function makePassingJobs(
  pool: pg.Pool,
  { range, batchMax, pastSaga }: { range: EventRange; batchMax: number; pastSaga: string },
): Promise<{ made: number; last: string | null }> {
  const { rows } = await pool.query<{ made: number; last: string | null }>(
    inRange(makeJobsPastBacklog, range),
    [range.from, range.to, batchMax, pastSaga],
  )
  return rows[0] ?? { made: 0, last: null }
}

async function retryDue(pool: pg.Pool, range: EventRange, values: unknown[]): Promise<pg.QueryResult> {
  try {
    return await pool.query(inRange(makeRetryJobs, range), values)
  } catch (error) {
    if (!isRefusal(error)) throw error
    return pool.query(inRange(makePossibleRetryJobs, range), values)
  }
}
