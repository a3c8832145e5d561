import type pg from 'pg'
import { type EventRange, inTransaction, prepared } from '../database/index.js'
import { RETRY_AFTER_S_MAX, type RetryPolicy } from './retry-policy.js'

export interface AppliedResult {
  sagaId: string
  jobId: string
  eventId: string
  subscriptionId: string
  workerId: string | null
  leaseExpiration: Date
  /** Since the delivery was made, by the database's clock. */
  ageMs: number
  /** Of the request; null when nobody lived to tell. */
  durationMs: number | null
  status: 'Completed' | 'PendingRetry' | 'DeadLettered'
  attemptCount: number
  errorCode: string | null
  correlationId: string | null
}

// [S4, S13] Results that nobody has applied, by idx_job_saga; the mark and the saga's move commit together, so a
// result counts once. attempt_count on the right of SET is the count before: 2^(n − 1) of the formula [S14]. The sagas'
// bounds are roundabout for the reason in make-jobs.ts.
export const applyNewResults = prepared(`
  WITH result AS MATERIALIZED (
    SELECT id, saga_id, event_id, subscription_id, status = 'Completed' AS succeeded, error_code, retry_after_s,
           worker_id, lease_until, duration_ms
    FROM sagapost.webhook_delivery_jobs AS job
    WHERE status IN ('Completed', 'Failed') AND applied_at IS NULL AND event_id >= $1 AND event_id < $2
    LIMIT $3 FOR UPDATE SKIP LOCKED
  ), limited AS MATERIALIZED (
    SELECT result.*, coalesce(subscription.max_attempts, $4) AS attempts_max
    FROM result LEFT JOIN sagapost.subscriptions AS subscription ON subscription.id = result.subscription_id
  ), marked AS (
    UPDATE sagapost.webhook_delivery_jobs AS job SET applied_at = sagapost.now()
    FROM result
    WHERE job.id = result.id AND job.event_id = result.event_id AND job.event_id >= $1 AND job.event_id < $2
  )
  UPDATE sagapost.webhook_delivery_sagas AS saga
  SET status = (CASE WHEN succeeded THEN 'Completed' ELSE 'PendingRetry' END)::sagapost.delivery_status,
      attempt_count = attempt_count + 1,
      final_error_code = CASE WHEN succeeded THEN NULL ELSE error_code END,
      next_attempt_at = CASE WHEN succeeded THEN next_attempt_at ELSE
        sagapost.now() + interval '1 millisecond'
          * greatest(least($5 * 2.0 ^ attempt_count, $6), least(coalesce(retry_after_s, 0), $7) * 1000.0) END,
      updated_at = sagapost.now()
  FROM limited
  WHERE saga.id = limited.saga_id AND saga.event_id = limited.event_id AND saga.status = 'InProgress'
    AND saga.subscription_id = limited.subscription_id
    AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
  RETURNING saga.id AS saga_id, limited.id AS job_id, saga.event_id, saga.subscription_id, worker_id, lease_until, duration_ms,
    saga.status, saga.attempt_count, saga.final_error_code, saga.correlation_id,
    (extract(epoch FROM sagapost.now() - saga.created_at) * 1000)::float8 AS age_ms, saga.status = 'PendingRetry' AND saga.attempt_count >= attempts_max AS dead`)

// [S17] A statement of its own: two moves of one row in one statement lose the second. The dead letter is written
// by the move itself.
export const deadLetter = `
  UPDATE sagapost.webhook_delivery_sagas AS saga SET status = 'DeadLettered', updated_at = sagapost.now()
  FROM unnest($3::bigint[], $4::bigint[]) AS dead (id, event_id)
  WHERE saga.id = dead.id AND saga.event_id = dead.event_id AND saga.status = 'PendingRetry'
    AND saga.event_id >= $1 AND saga.event_id < $2`

interface Row {
  saga_id: string
  job_id: string
  event_id: string
  subscription_id: string
  worker_id: string | null
  lease_until: Date
  age_ms: number
  duration_ms: number | null
  status: 'Completed' | 'PendingRetry'
  attempt_count: number
  final_error_code: string | null
  correlation_id: string | null
  dead: boolean
}

/** Applies new results under the role saga_orchestrator, all in one transaction with the dead letters. */
export async function applyResults(
  pool: pg.Pool,
  { range, batchMax, policy }: { range: EventRange; batchMax: number; policy: RetryPolicy },
): Promise<AppliedResult[]> {
  const rows = await inTransaction(pool, async (client) => {
    const { rows: applied } = await client.query<Row>(applyNewResults, [
      range.from,
      range.to,
      batchMax,
      policy.limit,
      policy.baseDelayMs,
      policy.maxDelayMs,
      RETRY_AFTER_S_MAX,
    ])
    const dead = applied.filter((row) => row.dead)
    if (dead.length > 0) {
      await client.query(deadLetter, [
        range.from,
        range.to,
        dead.map(({ saga_id }) => saga_id),
        dead.map(({ event_id }) => event_id),
      ])
    }
    return applied
  })
  return rows.map((row) => ({
    sagaId: row.saga_id,
    jobId: row.job_id,
    eventId: row.event_id,
    subscriptionId: row.subscription_id,
    workerId: row.worker_id,
    leaseExpiration: row.lease_until,
    ageMs: row.age_ms,
    durationMs: row.duration_ms,
    status: row.dead ? 'DeadLettered' : row.status,
    attemptCount: row.attempt_count,
    errorCode: row.final_error_code,
    correlationId: row.correlation_id,
  }))
}
