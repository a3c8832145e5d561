import type pg from 'pg'
import { inRange, newestRanges, type WorkWindow } from '../../database/index.js'

/** A subscription that has answered nothing in these partitions is treated as new. */
const PARTITIONS_ASKED = 8

// By idx_saga_subscription, one entry for each subscription (docs/internals/hot-statements.md: limits inside).
export const selectAnswered = `
  SELECT asked.id FROM unnest($3::bigint[]) AS asked (id)
  CROSS JOIN LATERAL (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.subscription_id = asked.id AND saga.status = 'Completed'
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
    LIMIT 1
  ) AS completed`

/** The subscriptions that have recently answered a delivery of any worker. Under the role job_worker. */
export async function recallAnswers(
  pool: pg.Pool,
  window: WorkWindow,
  subscriptionIds: readonly string[],
): Promise<string[]> {
  const answered = new Set<string>()
  for (const range of newestRanges(window, PARTITIONS_ASKED)) {
    const asked = subscriptionIds.filter((id) => !answered.has(id))
    if (asked.length === 0) break
    const { rows } = await pool.query<{ id: string }>(inRange(selectAnswered, range), [
      range.from,
      range.to,
      asked,
    ])
    for (const { id } of rows) answered.add(id)
  }
  return [...answered]
}
