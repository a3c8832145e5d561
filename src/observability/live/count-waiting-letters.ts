import type pg from 'pg'
import { readEventSpans } from '../../database/index.js'

// The newest $2 of a span from the end of idx_dead_failed, each with one probe of uniq_saga_requeued_from.
export const countNotRequeued = `
  SELECT count(*)::int AS examined,
         count(*) FILTER (WHERE NOT EXISTS (
           SELECT FROM sagapost.webhook_delivery_sagas AS heir
           WHERE heir.requeued_from = letter.id AND heir.event_id = letter.event_id
             AND heir.event_id >= $3 AND heir.event_id < $4))::int AS waiting
  FROM (
    SELECT id, event_id FROM sagapost.dead_letters
    WHERE event_id >= $3 AND event_id < $4 AND failed_at > sagapost.now() - $1 * interval '1 second'
    ORDER BY failed_at DESC LIMIT $2) AS letter`

export interface WaitingDeadLetters {
  /** Not requeued yet. */
  waiting: number
  /** There are more than were looked at. */
  more: boolean
}

/** How many of the newest dead letters, those of the newest events first, were not requeued. Under saga_readonly_role. */
export async function countWaitingLetters(
  pool: pg.Pool,
  { withinS, examinedMax }: { withinS: number; examinedMax: number },
): Promise<WaitingDeadLetters> {
  const sum = { examined: 0, waiting: 0 }
  for (const { from, to } of (await readEventSpans(pool)).reverse()) {
    const values = [withinS, examinedMax - sum.examined, from, to]
    const { rows } = await pool.query<typeof sum>(countNotRequeued, values)
    sum.examined += rows[0]?.examined ?? 0
    sum.waiting += rows[0]?.waiting ?? 0
    if (sum.examined >= examinedMax) break
  }
  return { waiting: sum.waiting, more: sum.examined >= examinedMax }
}
