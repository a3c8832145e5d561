import type pg from 'pg'

// By idx_saga_subscription, one entry for each subscription: newer partitions are not met once one has it.
export const selectAnswered = `
  SELECT asked.id FROM unnest($1::bigint[]) AS asked (id)
  CROSS JOIN LATERAL (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.subscription_id = asked.id AND saga.status = 'Completed'
    LIMIT 1
  ) AS completed`

/** Those of the subscriptions that have answered a delivery, of whichever worker: under the role job_worker. */
export async function recallAnswers(pool: pg.Pool, subscriptionIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(selectAnswered, [subscriptionIds])
  return rows.map(({ id }) => id)
}
