import type pg from 'pg'
import { isRowId, type Page, type PageRequest, readIdCursor, rowsToRead } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'
import { type DeliveryStatus, deliveryMachine } from '../../model/index.js'
import type { Delivery, DeliveryRow } from './delivery.js'
import { findInEachRange, type Ranged } from './find-in-each-range.js'
import { readDeliveriesOfSubscription } from './list-deliveries-of-subscription.js'
import { keepDeliveriesOfType, listDeliveriesOfType } from './list-deliveries-of-type.js'
import { listOpenDeliveries } from './list-open-deliveries.js'
import { pageFound } from './page-deliveries.js'
import { type Found, WALKED_MAX, walkDeliveries } from './walk-deliveries.js'

/**
 * Newest first by id, so that a requeued delivery stands where it was made. By the primary key, idx_saga_subscription
 * (Completed), idx_saga_failing, idx_saga_failing_subscription, or, with a sort, uniq_saga_event_subscription. Not for a
 * subscription alone, nor for Pending, InProgress and Completed of all subscriptions, which have statements of their own.
 * See docs/internals/hot-statements.md#filters-as-arrays.
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
    /* range of event_id */
  ORDER BY CASE WHEN $4 IS NOT NULL THEN subscription_id END DESC,
           CASE WHEN $2 IN ('PendingRetry', 'DeadLettered') THEN status END DESC,
           id DESC
  LIMIT $5`

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
       /* range of event_id */
     ORDER BY CASE WHEN $3 IS NOT NULL THEN subscription_id END DESC, final_error_code DESC, status DESC, id DESC
     LIMIT $5)
    UNION ALL
    (SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
            created_at, updated_at
     FROM sagapost.webhook_delivery_sagas
     WHERE status = 'DeadLettered' AND final_error_code = ANY (ARRAY[$2]) AND ($1::bigint IS NULL OR id < $1)
       AND ($3::bigint IS NULL OR subscription_id = ANY (ARRAY[$3]))
       AND ($4::sagapost.delivery_status IS NULL OR $4 = 'DeadLettered')
       /* range of event_id */
     ORDER BY CASE WHEN $3 IS NOT NULL THEN subscription_id END DESC, final_error_code DESC, status DESC, id DESC
     LIMIT $5)
  ) AS failing
  ORDER BY id DESC LIMIT $5`

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus | undefined
  eventId?: string | undefined
  subscriptionId?: string | undefined
  /** The error of the last failure; deliveries in PendingRetry and DeadLettered have one. */
  errorCode?: string | undefined
  eventType?: string | undefined
}

/**
 * A page of deliveries under the role saga_readonly_role. The cursor is the last id examined, which never changes. A
 * page may be shorter than its limit, even empty, and still have a next one: see docs/reference/http-api.md.
 */
export async function listDeliveries(
  pool: pg.Pool,
  { status, eventId, subscriptionId, errorCode, eventType, cursor, limit }: DeliveryFilter = {},
  walkedMax = WALKED_MAX,
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
      readFound(pool, { ...filters, before, rowsMax: rows, walkedMax })
    return keepDeliveriesOfType(pool, { eventType, before: readIdCursor(cursor), rowsMax, read })
  }
  const before = readIdCursor(cursor)
  const reading = { status, eventId, subscriptionId, errorCode, before, rowsMax, walkedMax }
  const found = await readFound(pool, reading)
  return pageFound(pool, found, rowsMax)
}

interface Reading {
  status: DeliveryStatus | undefined
  eventId: string | undefined
  subscriptionId: string | undefined
  errorCode: string | undefined
  before: string | null
  rowsMax: number
  walkedMax: number
}

/** In every range of events, or in the range of the given event. */
function readFound(pool: pg.Pool, reading: Reading): Promise<Found> {
  return findInEachRange(pool, reading, (ranged) => readRows(ranged, reading))
}

async function readRows(pool: Ranged, reading: Reading): Promise<Found> {
  const { status = null, eventId = null, subscriptionId = null, errorCode = null, before } = reading
  const { rowsMax, walkedMax } = reading
  if (errorCode !== null && eventId === null) {
    const values = [before, errorCode, subscriptionId, status, rowsMax]
    return readAll(pool, selectDeliveriesByError, values)
  }
  if (eventId === null) {
    if (status === 'Pending' || status === 'InProgress') {
      return listOpenDeliveries(pool, { before, status, subscriptionId, rowsMax, walkedMax })
    }
    if (status === 'Completed' && subscriptionId === null) {
      return walkDeliveries(pool, { before, status, subscriptionId, rowsMax, walkedMax })
    }
    if (status === null && subscriptionId !== null) {
      return readDeliveriesOfSubscription(pool, { before, subscriptionId, rowsMax, walkedMax })
    }
  }
  return readAll(pool, selectDeliveries, [before, status, eventId, subscriptionId, rowsMax, errorCode])
}

/** Runs a statement that finds every matching row. */
async function readAll(pool: Ranged, sql: string, values: unknown[]): Promise<Found> {
  return { rows: (await pool.query<DeliveryRow>(sql, values)).rows, examinedTo: null }
}
