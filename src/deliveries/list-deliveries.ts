import type pg from 'pg'
import { isRowId, type Page, type PageRequest, readIdCursor, rowsToRead } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { type DeliveryStatus, deliveryMachine } from '../state-machines/index.js'
import type { Delivery, DeliveryRow } from './delivery.js'
import { readDeliveriesOfSubscription } from './list-deliveries-of-subscription.js'
import { keepDeliveriesOfType, listDeliveriesOfType } from './list-deliveries-of-type.js'
import { pageDeliveries } from './page-deliveries.js'

/**
 * Newest first by id, so that a requeued delivery stands where it was made and not where its event is. By the
 * primary key, idx_saga_subscription (Completed), idx_saga_failing, idx_saga_failing_subscription, or, with a sort,
 * uniq_saga_event_subscription. Not for a subscription alone: see list-deliveries-of-subscription.ts.
 * How the filters are written leaves the planner no walk through everything: see src/events/list-events.ts.
 */
export const selectDeliveries = `
  SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
         created_at, updated_at
  FROM sagapost.webhook_delivery_sagas
  WHERE ($1::bigint IS NULL OR id < $1)
    AND ($2::sagapost.delivery_status IS NULL OR status = ANY (ARRAY[$2]))
    AND ($3::bigint IS NULL OR event_id = $3)
    AND ($4::bigint IS NULL OR subscription_id = ANY (ARRAY[$4]))
    -- With an event only: what an error leads to by itself is below.
    AND ($6::text IS NULL OR (final_error_code = $6 AND status IN ('PendingRetry', 'DeadLettered')))
  ORDER BY CASE WHEN $4 IS NOT NULL THEN subscription_id END DESC,
           CASE WHEN $2 IN ('PendingRetry', 'DeadLettered') THEN status END DESC,
           id DESC
  LIMIT $5`

/**
 * Those in Pending by idx_saga_status, which has no order: all of them are read, and no other row. Without
 * MATERIALIZED the planner may walk the primary key and hope to meet some soon.
 */
export const selectPendingDeliveries = `
  WITH pending AS MATERIALIZED (
    SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
           created_at, updated_at
    FROM sagapost.webhook_delivery_sagas
    WHERE status = 'Pending' AND ($1::bigint IS NULL OR id < $1) AND ($2::bigint IS NULL OR subscription_id = $2)
  )
  SELECT * FROM pending ORDER BY id DESC LIMIT $3`

/**
 * Those in InProgress through their jobs: active ones by uniq_job_saga_active, which has the order of the list, and
 * results that wait to be applied, which are few while an orchestrator runs. An index on sagas that holds InProgress
 * would also be taken by the statement that applies results, and made a delivery cost a fifth more CPU.
 */
export const selectInProgressDeliveries = `
  SELECT saga.*
  FROM (
    SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
    WHERE status IN ('Pending', 'Leased') AND ($2::bigint IS NULL OR subscription_id = $2)
    UNION ALL
    SELECT reported.saga_id, reported.event_id
    FROM sagapost.delivery_result_queue AS queued
    CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
    CROSS JOIN LATERAL (
      SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
      WHERE id = finished.job_id AND event_id = finished.event_id AND ($2::bigint IS NULL OR subscription_id = $2)
      LIMIT 1
    ) AS reported
  ) AS job
  CROSS JOIN LATERAL (
    SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
           created_at, updated_at
    FROM sagapost.webhook_delivery_sagas
    WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress'
      AND ($2::bigint IS NULL OR subscription_id = $2)
    LIMIT 1
  ) AS saga
  WHERE $1::bigint IS NULL OR job.saga_id < $1
  ORDER BY job.saga_id DESC
  LIMIT $3`

/**
 * Those that failed with one error, of one status or of both, each in the order of the list by idx_saga_failing_error,
 * or by idx_saga_failing_subscription_error where a subscription is given.
 */
export const selectDeliveriesByError = `
  SELECT * FROM (
    (SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
            created_at, updated_at
     FROM sagapost.webhook_delivery_sagas
     WHERE status = 'PendingRetry' AND final_error_code = ANY (ARRAY[$2]) AND ($1::bigint IS NULL OR id < $1)
       AND ($3::bigint IS NULL OR subscription_id = ANY (ARRAY[$3]))
       AND ($4::sagapost.delivery_status IS NULL OR $4 = 'PendingRetry')
     ORDER BY CASE WHEN $3 IS NOT NULL THEN subscription_id END DESC, final_error_code DESC, status DESC, id DESC
     LIMIT $5)
    UNION ALL
    (SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
            created_at, updated_at
     FROM sagapost.webhook_delivery_sagas
     WHERE status = 'DeadLettered' AND final_error_code = ANY (ARRAY[$2]) AND ($1::bigint IS NULL OR id < $1)
       AND ($3::bigint IS NULL OR subscription_id = ANY (ARRAY[$3]))
       AND ($4::sagapost.delivery_status IS NULL OR $4 = 'DeadLettered')
     ORDER BY CASE WHEN $3 IS NOT NULL THEN subscription_id END DESC, final_error_code DESC, status DESC, id DESC
     LIMIT $5)
  ) AS failing
  ORDER BY id DESC LIMIT $5`

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus | undefined
  eventId?: string | undefined
  subscriptionId?: string | undefined
  /** Of the last failure: those in PendingRetry and DeadLettered have one. */
  errorCode?: string | undefined
  /** A page may then be shorter than its limit, even empty, and still have a next one. */
  eventType?: string | undefined
}

/** A page of deliveries under the role saga_readonly_role. The cursor is the last id seen, which never changes. */
export async function listDeliveries(
  pool: pg.Pool,
  { status, eventId, subscriptionId, errorCode, eventType, cursor, limit }: DeliveryFilter = {},
): Promise<Page<Delivery>> {
  const rowsMax = rowsToRead(limit)
  if (status !== undefined && !deliveryMachine.statuses.includes(status)) {
    throw new SagapostError('query_invalid', `status must be one of ${deliveryMachine.statuses.join(', ')}`)
  }
  const ids = [eventId, subscriptionId].filter((id) => id !== undefined)
  if (!ids.every(isRowId)) return { data: [], nextCursor: null }
  if (eventType !== undefined) {
    const filters = { status, eventId, subscriptionId, errorCode }
    const alone = Object.values(filters).every((filter) => filter === undefined)
    if (alone) return listDeliveriesOfType(pool, { eventType, cursor, rowsMax })
    const read = (before: string | null, rows: number) =>
      readRows(pool, { ...filters, before, rowsMax: rows })
    return keepDeliveriesOfType(pool, { eventType, before: readIdCursor(cursor), rowsMax, read })
  }
  const before = readIdCursor(cursor)
  const rows = await readRows(pool, { status, eventId, subscriptionId, errorCode, before, rowsMax })
  return pageDeliveries(pool, rows, rowsMax, ({ id }) => ({ id }))
}

interface Reading {
  status: DeliveryStatus | undefined
  eventId: string | undefined
  subscriptionId: string | undefined
  errorCode: string | undefined
  before: string | null
  rowsMax: number
}

async function readRows(pool: pg.Pool, reading: Reading): Promise<DeliveryRow[]> {
  const { status = null, eventId = null, subscriptionId = null, errorCode = null, before, rowsMax } = reading
  if (errorCode !== null && eventId === null) {
    const values = [before, errorCode, subscriptionId, status, rowsMax]
    return (await pool.query<DeliveryRow>(selectDeliveriesByError, values)).rows
  }
  if (eventId === null && (status === 'Pending' || status === 'InProgress')) {
    const sql = status === 'Pending' ? selectPendingDeliveries : selectInProgressDeliveries
    return (await pool.query<DeliveryRow>(sql, [before, subscriptionId, rowsMax])).rows
  }
  if (eventId === null && status === null && subscriptionId !== null) {
    return readDeliveriesOfSubscription(pool, { before, subscriptionId, rowsMax })
  }
  const values = [before, status, eventId, subscriptionId, rowsMax, errorCode]
  return (await pool.query<DeliveryRow>(selectDeliveries, values)).rows
}
