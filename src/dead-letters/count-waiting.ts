import type pg from 'pg'
import { readRanges, withinRange } from '../database/index.js'

// Of a range, the newest $2 from the end of idx_dead_failed, each with one probe of uniq_saga_requeued_from.
export const countNotRequeued = `
  SELECT count(*)::int AS examined,
         count(*) FILTER (WHERE NOT EXISTS (
           SELECT FROM sagapost.webhook_delivery_sagas AS heir
           WHERE heir.requeued_from = letter.id AND heir.event_id = letter.event_id
             /* range of heir.event_id */))::int AS waiting
  FROM (
    SELECT id, event_id FROM sagapost.dead_letters
    WHERE failed_at > sagapost.now() - $1 * interval '1 second' /* range of event_id */
    ORDER BY failed_at DESC LIMIT $2) AS letter`

export interface WaitingDeadLetters {
  /** Not requeued yet. */
  waiting: number
  /** There are more than were looked at. */
  more: boolean
}

/** How many of the newest dead letters were not requeued: what was mended is no alarm. Under saga_readonly_role. */
export async function countWaiting(
  pool: pg.Pool,
  { withinS, examinedMax }: { withinS: number; examinedMax: number },
): Promise<WaitingDeadLetters> {
  let examined = 0
  let waiting = 0
  for (const range of await readRanges(pool)) {
    const { rows } = await pool.query<{ examined: number; waiting: number }>(
      withinRange(countNotRequeued, range),
      [withinS, examinedMax - examined],
    )
    examined += rows[0]?.examined ?? 0
    waiting += rows[0]?.waiting ?? 0
    if (examined >= examinedMax) break
  }
  return { waiting, more: examined >= examinedMax }
}
