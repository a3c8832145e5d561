import type pg from 'pg'
import { type EventRange, inRange } from '../../database/index.js'

/** Jobs examined per look, so that a look stays short however many jobs wait. */
const JOBS_PER_LOOK = 5_000

// By idx_job_status_lease, from where the look before has ended; nothing is locked.
export const selectWaiting = `
  SELECT DISTINCT ON (subscription_id) id, subscription_id, count(*) OVER () = $4 AS is_full,
         round(date_part('epoch', max(lease_until) OVER ()) * 1e6) / 1e3 AS until_ms
  FROM (
    SELECT id, subscription_id, lease_until FROM sagapost.webhook_delivery_jobs
    WHERE status = 'Pending' AND lease_until <= sagapost.now() AND event_id >= $1 AND event_id < $2 AND lease_until >= $3
    ORDER BY lease_until
    LIMIT $4
  ) AS waiting
  ORDER BY subscription_id, lease_until`

export interface Waiting {
  /** By subscription, the oldest job found in this look. */
  oldest: Map<string, string>
  /** Where the next look continues; undefined when this one reached the end. */
  next: Date | undefined
}

/** Finds the subscriptions that have free jobs, starting at this time. */
export async function findWaiting(
  pool: pg.Pool,
  range: EventRange,
  from: Date | undefined,
): Promise<Waiting> {
  const { rows } = await pool.query<{
    id: string
    subscription_id: string
    is_full: boolean
    until_ms: number
  }>(inRange(selectWaiting, range), [range.from, range.to, from ?? '-infinity', JOBS_PER_LOOK])
  const oldest = new Map(rows.map(({ id, subscription_id }) => [subscription_id, id]))
  const [first] = rows
  if (!first?.is_full) return { oldest, next: undefined }
  // When more jobs share one moment than a look examines, it must still advance.
  return { oldest, next: new Date(from ? Math.max(first.until_ms, from.getTime() + 1) : first.until_ms) }
}
