import type pg from 'pg'
import {
  byTime,
  checkTimeRange,
  type Page,
  type PageRequest,
  readInRanges,
  readRangesOf,
  readTimeCursor,
  rowsToRead,
  type TimeRange,
  toPage,
} from '../../database/index.js'
import { checkEventType, eventTimeUs } from '../../model/index.js'
import { type Event, type EventRow, toEvent } from './get-event.js'

/**
 * Newest first by time, then id, in every range of events, by idx_event_created or, for a type, idx_event_type. Events of
 * one transaction share a time: a page reads all that share the time it ends in, and no other row beyond itself.
 * Planned with its values: docs/internals/hot-statements.md#filters-as-arrays.
 */
export const selectEvents = `
  SELECT id, event_type, created_at, correlation_id, ${eventTimeUs} AS at_us
  FROM sagapost.events AS event
  WHERE ($1::bigint IS NULL
         OR (created_at, id) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::bigint))
    AND ($3::text IS NULL OR event_type = ANY (ARRAY[$3]))
    AND ($4::timestamptz IS NULL OR created_at >= $4)
    AND ($5::timestamptz IS NULL OR created_at < $5)
    /* range of event.id */
  ORDER BY CASE WHEN $3 IS NOT NULL THEN event_type END DESC, created_at DESC, id DESC
  LIMIT $6`

/** By event_keys_pkey, for as long as the key is remembered. */
const selectIdOfKey = 'SELECT event_id FROM sagapost.event_keys WHERE key = $1'

/** By event_keys_pkey, then by events_pkey in one partition of the id's range. */
export const selectEventByKey = `
  SELECT event.id, event_type, event.created_at, correlation_id, ${eventTimeUs} AS at_us
  FROM sagapost.event_keys AS key
  CROSS JOIN LATERAL (SELECT * FROM sagapost.events WHERE id = key.event_id /* range of id */) AS event
  WHERE key.key = $1
    AND ($2::text IS NULL OR event_type = $2)
    AND ($3::timestamptz IS NULL OR event.created_at >= $3)
    AND ($4::timestamptz IS NULL OR event.created_at < $4)`

export interface EventFilter extends PageRequest, TimeRange {
  type?: string | undefined
  /** Only the event that was published with this key. */
  idempotencyKey?: string | undefined
}

/**
 * A page of events without their payloads, under the role saga_readonly_role. Events never change, so pages are stable.
 */
export async function listEvents(
  pool: pg.Pool,
  { type, idempotencyKey, from, to, cursor, limit }: EventFilter = {},
): Promise<Page<Event>> {
  const rowsMax = rowsToRead(limit)
  const before = readTimeCursor(cursor)
  if (type !== undefined) checkEventType(type)
  checkTimeRange({ from, to })
  if (idempotencyKey !== undefined) {
    const values = [idempotencyKey, type ?? null, from ?? null, to ?? null]
    const keyed = await pool.query<{ event_id: string }>(selectIdOfKey, [idempotencyKey])
    const ids = keyed.rows.map(({ event_id }) => event_id)
    const found = await readRangesOf<EventRow>(pool, selectEventByKey, ids, () => values)
    return { data: found.map(toEvent), nextCursor: null }
  }
  const values = [before.atUs, before.id, type ?? null, from ?? null, to ?? null, rowsMax]
  const rows = await readInRanges<EventRow>(pool, selectEvents, values, { order: byTime, limit: rowsMax })
  return toPage(rows, rowsMax, toEvent, (row) => ({ id: row.id, atUs: String(row.at_us) }))
}
