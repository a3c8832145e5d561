import type pg from 'pg'
import { type EventRange, groupByRange, inRange, prepared, type WorkWindow } from '../../database/index.js'
import {
  type DeadDelivery,
  type DeadRow,
  hasEvent,
  hasNoActiveJob,
  lastJobColumns,
  selectFailedJobs,
  toDead,
} from './dead-delivery.js'

/** [S15] Ends deliveries that wait for a retry, before its time. In batches: one subscription may have any number. */
const endThose = (found: string, stop: string) =>
  prepared(`
  WITH found AS MATERIALIZED (
    SELECT saga.id, saga.event_id, saga.subscription_id, saga.correlation_id, saga.attempt_count${found}
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
      AND ${hasEvent} AND ${hasNoActiveJob}
    LIMIT $3 FOR UPDATE OF saga SKIP LOCKED
  ), moved AS (
    UPDATE sagapost.webhook_delivery_sagas AS saga
    SET status = 'DeadLettered', final_error_code = '${stop}', updated_at = sagapost.now()
    FROM found WHERE saga.id = ANY (ARRAY[found.id]) AND saga.event_id + 0 = found.event_id
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
  )
  SELECT found.*, '${stop}' AS error_code, ${lastJobColumns}
  FROM found LEFT JOIN LATERAL (${selectFailedJobs('found')}
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
    ORDER BY attempt DESC LIMIT 1
  ) AS last_job ON true`)

// By idx_saga_failing_subscription, of subscriptions that were deleted a short while ago.
export const endDeleted = endThose(
  `
    FROM sagapost.subscription_switches AS switch
    JOIN sagapost.subscriptions AS subscription
      ON subscription.id = ANY (ARRAY[switch.subscription_id]) AND subscription.deleted_at IS NOT NULL
    JOIN sagapost.webhook_delivery_sagas AS saga
      ON saga.subscription_id = ANY (ARRAY[switch.subscription_id]) AND saga.status = 'PendingRetry'`,
  'subscription_deleted',
)

// By webhook_delivery_sagas_pkey.
export const endCancelled = endThose(
  `
    FROM sagapost.delivery_cancellations AS cancellation
    JOIN sagapost.webhook_delivery_sagas AS saga
      ON saga.id = ANY (ARRAY[cancellation.saga_id]) AND saga.event_id + 0 = cancellation.event_id
      AND saga.status = 'PendingRetry'`,
  'cancelled',
)

const selectAnyStopped = prepared(`
  SELECT EXISTS (SELECT FROM sagapost.subscription_switches)
      OR EXISTS (SELECT FROM sagapost.delivery_cancellations) AS any`)

/** Whether any delivery has to be ended. */
export async function isAnyStopped(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ any: boolean }>(selectAnyStopped)
  return rows[0]?.any === true
}

/**
 * Ends stopped deliveries under the role saga_orchestrator: one transaction for each of the two kinds, at most
 * `batchMax` of each.
 */
export async function endStopped(
  pool: pg.Pool,
  { range, batchMax }: { range: EventRange; batchMax: number },
): Promise<DeadDelivery[]> {
  const bounds = [range.from, range.to, batchMax]
  const { rows: deleted } = await pool.query<DeadRow>(inRange(endDeleted, range), bounds)
  const { rows: cancelled } = await pool.query<DeadRow>(inRange(endCancelled, range), bounds)
  return [...deleted, ...cancelled].map(toDead)
}

const selectCancelled = prepared('SELECT event_id FROM sagapost.delivery_cancellations')
// The whole table, which holds what is being cancelled; the deliveries by their key. One that retention took is gone, too.
const forgetEnded = prepared(`
  DELETE FROM sagapost.delivery_cancellations AS cancellation
  WHERE cancellation.event_id >= $1 AND cancellation.event_id < $2 AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.id = ANY (ARRAY[cancellation.saga_id])
      AND saga.event_id BETWEEN cancellation.event_id AND cancellation.event_id
      AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
      AND saga.status IN ('Pending', 'InProgress', 'PendingRetry'))`)

/** Deletes cancellations of deliveries that have ended in any way. Under the role saga_orchestrator. */
export async function forgetEndedCancellations(pool: pg.Pool, window: WorkWindow): Promise<void> {
  const { rows } = await pool.query<{ event_id: string }>(selectCancelled)
  for (const { range } of groupByRange(window, rows, ({ event_id }) => event_id)) {
    await pool.query(inRange(forgetEnded, range), [range.from, range.to])
  }
}
