import type pg from 'pg'
import type { EventRange } from '../database/index.js'

/** Jobs that are looked at, the longest waiting first: a look stays short, however much waits. */
const JOBS_MAX = 5_000

// The front of idx_job_status_lease; nothing is locked.
export const selectWaiting = `
  SELECT DISTINCT subscription_id FROM (
    SELECT subscription_id FROM sagapost.webhook_delivery_jobs
    WHERE status = 'Pending' AND lease_until <= sagapost.now() AND event_id >= $1 AND event_id < $2
    ORDER BY lease_until
    LIMIT $3
  ) AS waiting`

/** The subscriptions whose jobs are next. */
export async function findWaiting(pool: pg.Pool, range: EventRange): Promise<string[]> {
  const { rows } = await pool.query<{ subscription_id: string }>(selectWaiting, [
    range.from,
    range.to,
    JOBS_MAX,
  ])
  return rows.map(({ subscription_id }) => subscription_id)
}
