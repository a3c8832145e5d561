import type { Ranged } from './find-in-each-range.js'
import { readFewJobsFirst } from './list-open-deliveries.js'
import { type Found, type FoundRow, toFound } from './walk-deliveries.js'

/**
 * The deliveries of one subscription, newest first, in one statement, so that one that moves meanwhile is seen once. No
 * index holds them all: every delivery would write three entries of it. Each status has a way of its own:
 *
 * - Completed by idx_saga_subscription, PendingRetry and DeadLettered by idx_saga_failing_subscription, each in the order
 *   of the list and no more than a page. When they fill the page, nothing older than its last row is looked for.
 * - InProgress through active jobs, by uniq_job_saga_active from the newest down to there, and through results that wait
 *   to be applied, each by its job's key. No index of them has the subscription: this reads the jobs of others as well.
 * - Pending by idx_saga_status, which has no order: all that are Pending are read.
 * - Of active jobs no more than `$5` are read, and the page ends with the last of them. Where there are `$4` results or
 *   Pending, those of this subscription are looked for among the newest `$4` deliveries, and the page ends with these.
 *
 * So the price of a page is what others have under way since its last row. docs/internals/decisions.md has it in ms.
 * LIMIT 1 keeps it from reading all jobs, or all deliveries, to find a few by their keys.
 */
export const selectDeliveriesOfSubscription = `
  WITH settled AS MATERIALIZED (
    SELECT * FROM (
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'Completed' AND subscription_id = ANY (ARRAY[$2::bigint]) AND ($1::bigint IS NULL OR id < $1)
         /* range of event_id */
       ORDER BY subscription_id DESC, id DESC LIMIT $3)
      UNION ALL
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'PendingRetry' AND subscription_id = ANY (ARRAY[$2]) AND ($1 IS NULL OR id < $1)
         /* range of event_id */
       ORDER BY subscription_id DESC, status DESC, id DESC LIMIT $3)
      UNION ALL
      (SELECT * FROM sagapost.webhook_delivery_sagas
       WHERE status = 'DeadLettered' AND subscription_id = ANY (ARRAY[$2]) AND ($1 IS NULL OR id < $1)
         /* range of event_id */
       ORDER BY subscription_id DESC, status DESC, id DESC LIMIT $3)
    ) AS indexed
    ORDER BY id DESC LIMIT $3
  ), page_end AS MATERIALIZED (
    SELECT CASE WHEN count(*) = $3 THEN min(id) ELSE 0 END AS id FROM settled
  ), active AS MATERIALIZED (
    SELECT saga_id, event_id, subscription_id FROM sagapost.webhook_delivery_jobs
    WHERE status IN ('Pending', 'Leased') AND ($1 IS NULL OR saga_id < $1) AND saga_id > (SELECT id FROM page_end)
      /* floor of saga_id */ /* range of event_id */
    ORDER BY saga_id DESC LIMIT $5
  ), sending AS MATERIALIZED (
    SELECT saga.*
    FROM active CROSS JOIN LATERAL (
      SELECT * FROM sagapost.webhook_delivery_sagas
      WHERE id = active.saga_id AND event_id BETWEEN active.event_id AND active.event_id AND status = 'InProgress'
        /* range of event_id */
      LIMIT 1
    ) AS saga
    WHERE active.subscription_id = $2
    LIMIT $3
  ), results AS MATERIALIZED (
    SELECT finished.job_id, finished.event_id
    FROM sagapost.delivery_result_queue AS queued
    CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
    LIMIT $4
  ), waiting AS MATERIALIZED (
    SELECT * FROM sagapost.webhook_delivery_sagas
    WHERE status = ANY (ARRAY['Pending'::sagapost.delivery_status]) /* range of event_id */
    ORDER BY status LIMIT $4
  ), crowd AS MATERIALIZED (
    SELECT greatest((SELECT count(*) FROM results), (SELECT count(*) FROM waiting)) = $4 AS is_crowd
  ), reported AS MATERIALIZED (
    SELECT DISTINCT ON (job.saga_id) saga.*
    FROM results
    CROSS JOIN LATERAL (
      SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
      WHERE id = results.job_id AND event_id = results.event_id AND subscription_id = $2
        /* range of event_id */
      LIMIT 1
    ) AS job
    CROSS JOIN LATERAL (
      SELECT * FROM sagapost.webhook_delivery_sagas
      WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress'
        /* range of event_id */
      LIMIT 1
    ) AS saga
    WHERE NOT (SELECT is_crowd FROM crowd)
      AND ($1 IS NULL OR job.saga_id < $1) AND job.saga_id > (SELECT id FROM page_end)
    ORDER BY job.saga_id DESC LIMIT $3
  ), pending AS MATERIALIZED (
    SELECT * FROM waiting
    WHERE NOT (SELECT is_crowd FROM crowd) AND subscription_id = $2
      AND ($1 IS NULL OR id < $1) AND id > (SELECT id FROM page_end)
    ORDER BY id DESC LIMIT $3
  ), walked AS MATERIALIZED (
    SELECT * FROM sagapost.webhook_delivery_sagas
    WHERE (SELECT is_crowd FROM crowd) AND ($1 IS NULL OR id < $1) AND id > (SELECT id FROM page_end)
      /* floor of id */ /* range of event_id */
    ORDER BY id DESC LIMIT $4
  ), met AS MATERIALIZED (
    SELECT * FROM walked WHERE subscription_id = $2 AND status IN ('Pending', 'InProgress') LIMIT $3
  ), search AS MATERIALIZED (
    SELECT jobs_to, greatest(jobs_to, walked_to) AS examined_to
    FROM (SELECT CASE WHEN (SELECT count(*) FROM sending) < $3
                      THEN (SELECT CASE WHEN count(*) = $5 THEN min(saga_id) END FROM active) END AS jobs_to,
                 CASE WHEN (SELECT count(*) FROM met) < $3
                      THEN (SELECT CASE WHEN count(*) = $4 THEN min(id) END FROM walked) END AS walked_to) AS ends
  )
  SELECT found.*, search.examined_to, search.jobs_to
  FROM search LEFT JOIN LATERAL (
    SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
           created_at, updated_at
    FROM (
      -- UNION: a delivery may have an active job and be met, or, after a repair by hand, have a job and a result.
      SELECT * FROM settled
      UNION ALL (SELECT * FROM sending UNION SELECT * FROM reported UNION SELECT * FROM met)
      UNION ALL SELECT * FROM pending
    ) AS delivery
    WHERE id >= coalesce(search.examined_to, 0)
    ORDER BY id DESC LIMIT $3
  ) AS found ON true
  ORDER BY id DESC`

interface SubscriptionReading {
  before: string | null
  subscriptionId: string
  rowsMax: number
  walkedMax: number
}

export async function readDeliveriesOfSubscription(
  pool: Ranged,
  { before, subscriptionId, rowsMax, walkedMax }: SubscriptionReading,
): Promise<Found> {
  return readFewJobsFirst({ rowsMax, walkedMax }, async (jobsMax) => {
    const values = [before, subscriptionId, rowsMax, walkedMax, jobsMax]
    return toFound((await pool.query<FoundRow>(selectDeliveriesOfSubscription, values)).rows)
  })
}
