import type pg from 'pg'
import { type EventRange, inRange } from '../../database/index.js'

// One pass over the free jobs of idx_job_status_lease for all subscriptions together; nothing is locked yet.
export const findOldestFree = `
  SELECT DISTINCT ON (subscription_id) id, subscription_id FROM sagapost.webhook_delivery_jobs AS job
  WHERE status = 'Pending' AND lease_until <= sagapost.now() AND event_id >= $1 AND event_id < $2
    AND subscription_id = ANY ($3::bigint[])
  ORDER BY subscription_id, lease_until`

/** The oldest free job of each subscription that has one, by subscription. */
export async function findProbes(
  pool: pg.Pool,
  range: EventRange,
  subscriptionIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; subscription_id: string }>(inRange(findOldestFree, range), [
    range.from,
    range.to,
    subscriptionIds,
  ])
  return new Map(rows.map(({ id, subscription_id }) => [subscription_id, id]))
}
