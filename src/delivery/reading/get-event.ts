import type pg from 'pg'
import { isRowId, PAGE_ROWS_MAX } from '../../database/index.js'
import { eventIdIn, eventTimeUs, PAYLOAD_BYTES_READ_MAX, webhookIdOf } from '../../model/index.js'
import type { Delivery } from './delivery.js'
import { listDeliveries } from './list-deliveries.js'

/** An event as it appears in lists. */
export interface Event {
  id: string
  /** The `webhook-id` that receivers get. */
  webhookId: string
  type: string
  createdAt: Date
  correlationId: string | null
}

export interface EventRow {
  id: string
  event_type: string
  created_at: Date
  at_us: number
  correlation_id: string | null
}

export interface WholeEvent extends Event {
  /** The JSON text as published, byte for byte. */
  payload: string
  /** The payload exceeds the limit of what Sagapost reads: it is kept, but `payload` is null. */
  payloadTooLarge?: boolean
  /** Newest first, at most 200. */
  deliveries: Delivery[]
  /** Cursor for `listDeliveries` with this event's id; null when there are no more. */
  deliveriesNextCursor: string | null
}

/** By events_pkey in one partition: the id tells which. */
export const selectEvent = `
  SELECT id, event_type, created_at, correlation_id, ${eventTimeUs} AS at_us,
         CASE WHEN pg_column_size(payload) <= $2 AND octet_length(payload::text) <= $2 THEN payload::text END AS payload
  FROM sagapost.events AS event WHERE id = $1`

/**
 * One event with its payload and deliveries, by event id or webhook id. Null when it does not exist, or when the
 * webhook id belongs to an earlier event with the same id. Under the role saga_readonly_role.
 */
export async function getEvent(pool: pg.Pool, idOrWebhookId: string): Promise<WholeEvent | null> {
  const id = eventIdIn(idOrWebhookId) ?? idOrWebhookId
  if (!isRowId(id)) return null
  const { rows } = await pool.query<EventRow & { payload: string | null }>(selectEvent, [
    id,
    PAYLOAD_BYTES_READ_MAX,
  ])
  const [row] = rows
  if (!row) return null
  const event = toEvent(row)
  if (![id, `evt_${id}`, event.webhookId].includes(idOrWebhookId)) return null
  const { data, nextCursor } = await listDeliveries(pool, { eventId: id, limit: PAGE_ROWS_MAX })
  return {
    ...event,
    ...(row.payload === null && { payloadTooLarge: true }),
    payload: row.payload ?? 'null',
    deliveries: data,
    deliveriesNextCursor: nextCursor,
  }
}

export function toEvent(row: EventRow): Event {
  return {
    id: row.id,
    webhookId: webhookIdOf(row.id, row.at_us),
    type: row.event_type,
    createdAt: row.created_at,
    correlationId: row.correlation_id,
  }
}
