import type pg from 'pg'
import { isRowId, type Page, type PageRequest, readIdCursor, rowsToRead, toPage } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { type DeliveryStatus, deliveryMachine } from '../state-machines/index.js'
import { type Delivery, type DeliveryRow, toDelivery } from './delivery.js'

/**
 * Newest first by id, so that a requeued delivery stands where it was made and not where its event is. The
 * statement is planned with its values (it has no name): an absent filter is no condition.
 */
export const selectDeliveries = `
  SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
         created_at, updated_at
  FROM sagapost.webhook_delivery_sagas
  WHERE ($1::bigint IS NULL OR id < $1)
    AND ($2::sagapost.delivery_status IS NULL OR status = $2)
    AND ($3::bigint IS NULL OR event_id = $3)
    AND ($4::bigint IS NULL OR subscription_id = $4)
  ORDER BY id DESC
  LIMIT $5`

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus | undefined
  eventId?: string | undefined
  subscriptionId?: string | undefined
}

/** A page of deliveries under the role saga_readonly_role. The cursor is the last id seen, which never changes. */
export async function listDeliveries(
  pool: pg.Pool,
  { status, eventId, subscriptionId, cursor, limit }: DeliveryFilter = {},
): Promise<Page<Delivery>> {
  const rowsMax = rowsToRead(limit)
  const before = readIdCursor(cursor)
  if (status !== undefined && !deliveryMachine.statuses.includes(status)) {
    throw new SagapostError('query_invalid', `status must be one of ${deliveryMachine.statuses.join(', ')}`)
  }
  const ids = [eventId, subscriptionId].filter((id) => id !== undefined)
  if (!ids.every(isRowId)) return { data: [], nextCursor: null }
  const { rows } = await pool.query<DeliveryRow>(selectDeliveries, [
    before,
    status ?? null,
    eventId ?? null,
    subscriptionId ?? null,
    rowsMax,
  ])
  return toPage(rows, rowsMax, toDelivery, ({ id }) => ({ id }))
}
