import type { Ranged } from './find-in-each-range.js'
import { type Found, type FoundRow, type StatusReading, toFound, walkDeliveries } from './walk-deliveries.js'

/**
 * Those in Pending by idx_saga_status, which has no order: all of them are read, up to a limit. Where there are more,
 * `is_crowd` says so, and nothing is found. See docs/internals/hot-statements.md#filters-as-arrays.
 */
export const selectPendingDeliveries = `
  WITH pending AS MATERIALIZED (
    SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
           created_at, updated_at
    FROM sagapost.webhook_delivery_sagas
    WHERE status = ANY (ARRAY['Pending'::sagapost.delivery_status]) /* range of event_id */
    ORDER BY status LIMIT $4
  )
  SELECT found.*, crowd.is_crowd
  FROM (SELECT count(*) = $4 AS is_crowd FROM pending) AS crowd
  LEFT JOIN (
    SELECT * FROM pending
    WHERE ($1::bigint IS NULL OR id < $1) AND ($2::bigint IS NULL OR subscription_id = $2)
    ORDER BY id DESC LIMIT $3
  ) AS found ON NOT crowd.is_crowd
  ORDER BY id DESC`

/**
 * Those in InProgress through their jobs, since no index of sagas holds InProgress: active ones by uniq_job_saga_active,
 * in the order of the list, and results that wait to be applied. No more than `$5` and `$4` of them: `examined_to` says how
 * far the active jobs were read, `is_crowd` that there are more results. Why: docs/internals/decisions.md#indexes-for-the-lists.
 */
export const selectInProgressDeliveries = `
  WITH active AS MATERIALIZED (
    SELECT saga_id, event_id, subscription_id FROM sagapost.webhook_delivery_jobs
    WHERE status IN ('Pending', 'Leased') AND ($1::bigint IS NULL OR saga_id < $1)
      /* floor of saga_id */ /* range of event_id */
    ORDER BY saga_id DESC LIMIT $5
  ), sending AS MATERIALIZED (
    SELECT saga.*
    FROM active CROSS JOIN LATERAL (
      SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
             created_at, updated_at
      FROM sagapost.webhook_delivery_sagas
      WHERE id = active.saga_id AND event_id BETWEEN active.event_id AND active.event_id AND status = 'InProgress'
        /* range of event_id */
      LIMIT 1
    ) AS saga
    WHERE $2::bigint IS NULL OR active.subscription_id = $2
    LIMIT $3
  ), search AS MATERIALIZED (
    SELECT CASE WHEN (SELECT count(*) FROM sending) < $3
                THEN (SELECT CASE WHEN count(*) = $5 THEN min(saga_id) END FROM active) END AS jobs_to
  ), results AS MATERIALIZED (
    SELECT finished.job_id, finished.event_id
    FROM sagapost.delivery_result_queue AS queued
    CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
    LIMIT $4
  ), crowd AS MATERIALIZED (
    SELECT count(*) = $4 AS is_crowd FROM results
  ), reported AS (
    SELECT saga.*
    FROM results
    CROSS JOIN LATERAL (
      SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
      WHERE id = results.job_id AND event_id = results.event_id AND ($2 IS NULL OR subscription_id = $2)
        /* range of event_id */
      LIMIT 1
    ) AS job
    CROSS JOIN LATERAL (
      SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
             created_at, updated_at
      FROM sagapost.webhook_delivery_sagas
      WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress'
        /* range of event_id */
      LIMIT 1
    ) AS saga
    WHERE NOT (SELECT is_crowd FROM crowd) AND ($1 IS NULL OR job.saga_id < $1)
      AND job.saga_id >= coalesce((SELECT jobs_to FROM search), 0)
  )
  SELECT found.*, jobs_to AS examined_to, jobs_to, crowd.is_crowd
  FROM search CROSS JOIN crowd LEFT JOIN (
    -- UNION: after a repair by hand a delivery may have an active job and a result as well.
    SELECT * FROM (SELECT * FROM sending UNION SELECT * FROM reported) AS delivery ORDER BY id DESC LIMIT $3
  ) AS found ON true
  ORDER BY id DESC`

type OpenRow = FoundRow & { is_crowd: boolean }

export interface OpenReading extends StatusReading {
  status: 'Pending' | 'InProgress'
}

/** A page of Pending or InProgress deliveries; walks the primary key when there are too many to read whole. */
export async function listOpenDeliveries(pool: Ranged, reading: OpenReading): Promise<Found> {
  const { before, status, subscriptionId, rowsMax, walkedMax } = reading
  const read = async (sql: string, limits: number[]) => {
    const { rows } = await pool.query<OpenRow>(sql, [before, subscriptionId, rowsMax, ...limits])
    return rows[0]?.is_crowd ? walkDeliveries(pool, reading) : toFound(rows)
  }
  if (status === 'Pending') return read(selectPendingDeliveries, [walkedMax])
  return readFewJobsFirst(reading, (jobsMax) => read(selectInProgressDeliveries, [walkedMax, jobsMax]))
}

/** Usually enough for a page, and few enough that the planner reads them in index order instead of sorting all. */
const JOBS_FIRST = 1_000

/** Reads a few active jobs first, and up to the limit only when these do not fill the page. */
export async function readFewJobsFirst(
  { rowsMax, walkedMax }: { rowsMax: number; walkedMax: number },
  read: (jobsMax: number) => Promise<Found>,
): Promise<Found> {
  const found = await read(Math.min(JOBS_FIRST, walkedMax))
  const isWhole = found.rows.length === rowsMax || !found.isCutByJobs
  return isWhole || walkedMax <= JOBS_FIRST ? found : read(walkedMax)
}
