import type pg from 'pg'
import { isRowId, PAGE_ROWS_MAX } from '../database/index.js'
import { type Delivery, listDeliveries } from '../deliveries/index.js'
import { PAYLOAD_BYTES_READ_MAX } from './payload-limits.js'

/** An event as lists have it. */
export interface Event {
  id: string
  type: string
  createdAt: Date
  correlationId: string | null
}

export interface EventRow {
  id: string
  event_type: string
  created_at: Date
  correlation_id: string | null
}

export interface WholeEvent extends Event {
  /** The JSON text as it was published, byte for byte. */
  payload: string
  /** The payload is larger than any part reads: it is kept, and `payload` is null. */
  payloadTooLarge?: boolean
  /** Newest first, at most 200. */
  deliveries: Delivery[]
  /** For `listDeliveries` with this event's id, when there are more; else null. */
  deliveriesNextCursor: string | null
}

/** By events_pkey in one partition: the id tells which. */
export const selectEvent = `
  SELECT id, event_type, created_at, correlation_id,
         CASE WHEN pg_column_size(payload) <= $2 AND octet_length(payload::text) <= $2 THEN payload::text END AS payload
  FROM sagapost.events WHERE id = $1`

/** One event with its payload and deliveries; null when there is none. Under the role saga_readonly_role. */
export async function getEvent(pool: pg.Pool, id: string): Promise<WholeEvent | null> {
  if (!isRowId(id)) return null
  const { rows } = await pool.query<EventRow & { payload: string | null }>(selectEvent, [
    id,
    PAYLOAD_BYTES_READ_MAX,
  ])
  const [row] = rows
  if (!row) return null
  const { data, nextCursor } = await listDeliveries(pool, { eventId: id, limit: PAGE_ROWS_MAX })
  return {
    ...toEvent(row),
    ...(row.payload === null && { payloadTooLarge: true }),
    payload: row.payload ?? 'null',
    deliveries: data,
    deliveriesNextCursor: nextCursor,
  }
}

export function toEvent(row: EventRow): Event {
  return {
    id: row.id,
    type: row.event_type,
    createdAt: row.created_at,
    correlationId: row.correlation_id,
  }
}
