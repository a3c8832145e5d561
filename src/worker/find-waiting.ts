import type pg from 'pg'
import type { EventRange } from '../database/index.js'

/** Jobs that one look goes through: it stays short, however much waits. */
export const JOBS_PER_LOOK = 5_000

// By idx_job_status_lease, from where the look before has ended; nothing is locked.
export const selectWaiting = `
  SELECT id, subscription_id, round(date_part('epoch', lease_until) * 1e6) / 1e3 AS free_since_ms
  FROM sagapost.webhook_delivery_jobs
  WHERE status = 'Pending' AND lease_until <= sagapost.now() AND event_id >= $1 AND event_id < $2 AND lease_until >= $3
  ORDER BY lease_until
  LIMIT $4`

export interface Waiting {
  /** By subscription, the job of this look that has waited longest. */
  oldest: Map<string, string>
  /** Where the next look goes on; undefined: this one came to the end. */
  next: Date | undefined
}

/** The subscriptions whose jobs are free, from this time on. */
export async function findWaiting(
  pool: pg.Pool,
  range: EventRange,
  from: Date | undefined,
): Promise<Waiting> {
  const { rows } = await pool.query<{ id: string; subscription_id: string; free_since_ms: number }>(
    selectWaiting,
    [range.from, range.to, from ?? '-infinity', JOBS_PER_LOOK],
  )
  const oldest = new Map<string, string>()
  for (const { id, subscription_id } of rows)
    if (!oldest.has(subscription_id)) oldest.set(subscription_id, id)
  const last = rows.length === JOBS_PER_LOOK ? rows.at(-1)?.free_since_ms : undefined
  if (last === undefined) return { oldest, next: undefined }
  // More of them at one moment than a look goes through must not hold it there.
  return { oldest, next: new Date(from ? Math.max(last, from.getTime() + 1) : last) }
}
