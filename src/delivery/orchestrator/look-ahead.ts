import type pg from 'pg'
import { type EventRange, inRange, prepared } from '../../database/index.js'

// Index probes: delivery_result_queue_pkey, idx_saga_status, and the first entry of idx_saga_status_retry.
export const lookAhead = prepared(`
  SELECT EXISTS (SELECT FROM sagapost.delivery_result_queue)
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas
                 WHERE status = 'Pending'
                   AND (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)) AS work,
    (SELECT extract(epoch FROM next_attempt_at - sagapost.now()) * 1000 FROM sagapost.webhook_delivery_sagas
     WHERE status = 'PendingRetry' AND (event_id >= $1 OR event_id > $2) AND (event_id < $2 OR event_id <= $1)
     ORDER BY next_attempt_at LIMIT 1)::float8 AS next_retry_ms`)

/** Time until there are results to apply or deliveries of this range to move, as far as known; 0 means now. */
export async function workDueInMs(pool: pg.Pool, range: EventRange): Promise<number> {
  const { rows } = await pool.query<{ work: boolean; next_retry_ms: number | null }>(
    inRange(lookAhead, range),
    [range.from, range.to],
  )
  const { work = false, next_retry_ms = null } = rows[0] ?? {}
  if (work) return 0
  return next_retry_ms === null ? Number.POSITIVE_INFINITY : Math.max(0, next_retry_ms)
}
