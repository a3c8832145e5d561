import type pg from 'pg'
import { type Page, type PageRequest, readIdCursor, rowsToRead, toPage } from '../../database/index.js'

/** Newest first by set_aside_events_pkey. */
const selectSetAside = `
  SELECT event_id, event_type, correlation_id, error_code, reason, set_aside_at
  FROM sagapost.set_aside_events
  WHERE $1::bigint IS NULL OR event_id < $1
  ORDER BY event_id DESC LIMIT $2`

export interface SetAsideEvent {
  eventId: string
  type: string
  correlationId: string | null
  /** An error code of the catalogue, or the SQLSTATE. */
  errorCode: string
  /** The database's error message. */
  reason: string
  setAsideAt: Date
}

/** [R1] A page of the events that the database refused to route, under the role saga_readonly_role. */
export async function listSetAsideEvents(
  pool: pg.Pool,
  { cursor, limit }: PageRequest = {},
): Promise<Page<SetAsideEvent>> {
  const rowsMax = rowsToRead(limit)
  const { rows } = await pool.query(selectSetAside, [readIdCursor(cursor), rowsMax])
  return toPage(rows, rowsMax, toSetAsideEvent, ({ event_id: id }) => ({ id }))
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above.
function toSetAsideEvent(row: any): SetAsideEvent {
  return {
    eventId: row.event_id,
    type: row.event_type,
    correlationId: row.correlation_id,
    errorCode: row.error_code,
    reason: row.reason,
    setAsideAt: row.set_aside_at,
  }
}
