import type pg from 'pg'
import type { DeliveryRow } from './delivery.js'

/**
 * The deliveries of one subscription, newest first, in one statement, so that one that moves meanwhile is seen once. No
 * index holds them all: every delivery would write three entries of it. Each status has a way of its own:
 *
 * - Completed by idx_saga_subscription, PendingRetry and DeadLettered by idx_saga_failing_subscription, each in the order
 *   of the list and no more than a page. When they fill the page, nothing older than its last row is looked for.
 * - InProgress through active jobs, by uniq_job_saga_active from the newest down to there, and through results that wait
 *   to be applied, each by its job's key. No index of them has the subscription: this reads the jobs of others as well.
 * - Pending by idx_saga_status, which has no order: all that are Pending are read.
 *
 * So the price of a page is what others have under way since its last row. docs/internals/decisions.md has it in ms.
 * OFFSET 0 keeps the bounds of ids from being taken for a way to the rows: the planner guesses that few lie between.
 * LIMIT 1 keeps it from reading all jobs, or all deliveries, to find a few by their keys.
 */
export const selectDeliveriesOfSubscription = `
  WITH settled AS MATERIALIZED (
    SELECT * FROM (
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'Completed' AND subscription_id = ANY (ARRAY[$2::bigint]) AND ($1::bigint IS NULL OR id < $1)
       ORDER BY subscription_id DESC, id DESC LIMIT $3)
      UNION ALL
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'PendingRetry' AND subscription_id = ANY (ARRAY[$2]) AND ($1 IS NULL OR id < $1)
       ORDER BY subscription_id DESC, status DESC, id DESC LIMIT $3)
      UNION ALL
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'DeadLettered' AND subscription_id = ANY (ARRAY[$2]) AND ($1 IS NULL OR id < $1)
       ORDER BY subscription_id DESC, status DESC, id DESC LIMIT $3)
    ) AS indexed
    ORDER BY id DESC LIMIT $3
  ), page_end AS MATERIALIZED (
    SELECT CASE WHEN count(*) = $3 THEN min(id) ELSE 0 END AS id FROM settled
  ), sending AS MATERIALIZED (
    SELECT saga.*
    FROM sagapost.webhook_delivery_jobs AS job
    CROSS JOIN LATERAL (
      SELECT * FROM sagapost.webhook_delivery_sagas
      WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress'
      LIMIT 1
    ) AS saga
    WHERE job.status IN ('Pending', 'Leased') AND job.subscription_id = $2
      AND ($1 IS NULL OR job.saga_id < $1) AND job.saga_id > (SELECT id FROM page_end)
    ORDER BY job.saga_id DESC LIMIT $3
  ), reported AS MATERIALIZED (
    SELECT DISTINCT ON (job.saga_id) saga.*
    FROM sagapost.delivery_result_queue AS queued
    CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
    CROSS JOIN LATERAL (
      SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
      WHERE id = finished.job_id AND event_id = finished.event_id AND subscription_id = $2
      LIMIT 1
    ) AS job
    CROSS JOIN LATERAL (
      SELECT * FROM sagapost.webhook_delivery_sagas
      WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress'
      LIMIT 1
    ) AS saga
    WHERE ($1 IS NULL OR job.saga_id < $1) AND job.saga_id > (SELECT id FROM page_end)
    ORDER BY job.saga_id DESC LIMIT $3
  ), pending AS MATERIALIZED (
    SELECT * FROM (
      SELECT * FROM sagapost.webhook_delivery_sagas WHERE status = 'Pending' AND subscription_id = $2 OFFSET 0
    ) AS waiting
    WHERE ($1 IS NULL OR id < $1) AND id > (SELECT id FROM page_end)
    ORDER BY id DESC LIMIT $3
  )
  SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
         created_at, updated_at
  FROM (
    -- UNION: after a repair by hand a delivery may have an active job and a result as well.
    SELECT * FROM settled UNION ALL (SELECT * FROM sending UNION SELECT * FROM reported) UNION ALL SELECT * FROM pending
  ) AS delivery
  ORDER BY id DESC LIMIT $3`

interface SubscriptionReading {
  before: string | null
  subscriptionId: string
  rowsMax: number
}

export async function readDeliveriesOfSubscription(
  pool: pg.Pool,
  { before, subscriptionId, rowsMax }: SubscriptionReading,
): Promise<DeliveryRow[]> {
  const values = [before, subscriptionId, rowsMax]
  return (await pool.query<DeliveryRow>(selectDeliveriesOfSubscription, values)).rows
}
