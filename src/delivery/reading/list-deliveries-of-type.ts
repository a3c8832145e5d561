import type pg from 'pg'
import {
  byId,
  byTime,
  encodeCursor,
  type Page,
  readEveryRange,
  readRangesOf,
  readTimeCursor,
} from '../../database/index.js'
import { eventTimeUs } from '../../model/index.js'
import type { Delivery, DeliveryRow } from './delivery.js'
import { pageDeliveries, pageFound } from './page-deliveries.js'
import type { Found } from './walk-deliveries.js'

/** A delivery does not store its event's type, so a request examines at most this many events or deliveries. */
export const EXAMINED_MAX = 1_000

/**
 * The newest events of the type by idx_event_type, and their deliveries by uniq_saga_event_subscription: by event, newest
 * first, then by id. `$2` and `$3` are the event and the delivery that the page before ended with.
 */
export const selectDeliveriesOfType = `
  WITH typed AS MATERIALIZED (
    SELECT id, created_at FROM sagapost.events
    WHERE event_type = ANY (ARRAY[$1::text])
      AND ($2::bigint IS NULL OR (created_at, id) <= (SELECT created_at, id FROM sagapost.events WHERE id = $2))
      /* range of id */
    ORDER BY event_type DESC, created_at DESC, id DESC LIMIT $4
  ), found AS (
    SELECT saga.id, saga.event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code,
           requeued_from, saga.created_at, updated_at, ${eventTimeUs} AS event_at_us
    FROM typed AS event CROSS JOIN LATERAL (
      -- OFFSET 0: docs/internals/hot-statements.md#limits-inside.
      SELECT * FROM sagapost.webhook_delivery_sagas
      WHERE event_id = event.id /* range of event_id */ OFFSET 0
    ) AS saga
    WHERE $2::bigint IS NULL OR saga.event_id <> $2 OR saga.id < $3::bigint
    ORDER BY event.created_at DESC, event.id DESC, saga.id DESC LIMIT $5
  )
  SELECT found.*, oldest.examined, oldest.id AS examined_to, oldest.at_us AS examined_to_us
  FROM (SELECT count(*)::int AS examined, (array_agg(id ORDER BY created_at, id))[1] AS id,
               (array_agg(${eventTimeUs} ORDER BY created_at, id))[1] AS at_us
        FROM typed AS event) AS oldest
  LEFT JOIN found ON true
  ORDER BY event_at_us DESC, event_id DESC, id DESC`

interface TypeFilter {
  eventType: string
  cursor: string | undefined
  rowsMax: number
}

/** The deliveries of one event type, without other filters. */
export async function listDeliveriesOfType(pool: pg.Pool, filter: TypeFilter): Promise<Page<Delivery>> {
  // Most events have a delivery, so as many events as the page has rows usually fill it.
  const { page, isWhole } = await examineEvents(pool, filter, filter.rowsMax)
  return isWhole ? page : (await examineEvents(pool, filter, EXAMINED_MAX)).page
}

async function examineEvents(
  pool: pg.Pool,
  { eventType, cursor, rowsMax }: TypeFilter,
  eventsMax: number,
): Promise<{ page: Page<Delivery>; isWhole: boolean }> {
  const { id: eventId, atUs: deliveryId } = readTimeCursor(cursor)
  const values = [eventType, eventId, deliveryId, eventsMax, rowsMax]
  const rows = await readEveryRange<TypedRow>(pool, selectDeliveriesOfType, values)
  // The newest event at which the search of a range stopped.
  const [oldest] = rows
    .filter(({ examined }) => examined >= eventsMax)
    .map((row) => ({ id: row.examined_to, at_us: row.examined_to_us }))
    .sort(byTime)
  const found = rows
    .filter((row) => row.id !== null && (!oldest || byTime(eventOf(row), oldest) <= 0))
    .sort((one, other) => byTime(eventOf(one), eventOf(other)) || byId(one, other))
    .slice(0, rowsMax)
  const page = await pageDeliveries(pool, found, rowsMax, (row) => ({ id: row.event_id, atUs: row.id }))
  if (page.nextCursor !== null || !oldest) return { page, isWhole: true }
  // After the oldest examined event and all of its deliveries.
  const nextCursor = encodeCursor({ id: oldest.id, atUs: '0' })
  return { page: { ...page, nextCursor }, isWhole: false }
}

/** Each range returns one row without a delivery when it has none. */
interface TypedRow extends DeliveryRow {
  event_at_us: number
  examined: number
  examined_to: string
  examined_to_us: number
}

const eventOf = (row: TypedRow) => ({ id: row.event_id, at_us: row.event_at_us })

/** By events_pkey, one by one: docs/internals/hot-statements.md#limits-inside. */
export const selectOfType = `
  SELECT wanted.id
  FROM unnest($1::bigint[]) AS wanted (id)
  CROSS JOIN LATERAL (SELECT event_type FROM sagapost.events WHERE id = wanted.id /* range of id */ LIMIT 1) AS event
  WHERE event_type = $2`

export interface TypeSieve {
  eventType: string
  before: string | null
  rowsMax: number
  /** The deliveries that match the other filters, newest first. */
  read(before: string | null, rowsMax: number): Promise<Found>
}

/** Keeps the deliveries of one type among those that match the other filters. */
export async function keepDeliveriesOfType(
  pool: pg.Pool,
  { eventType, before, rowsMax, read }: TypeSieve,
): Promise<Page<Delivery>> {
  const { rows: examined, examinedTo } = await read(before, EXAMINED_MAX)
  const ids = [...new Set(examined.map(({ event_id }) => event_id))]
  const rows = await readRangesOf<{ id: string }>(pool, selectOfType, ids, (some) => [some, eventType])
  const ofType = new Set(rows.map(({ id }) => id))
  const found = examined.filter(({ event_id }) => ofType.has(event_id))
  const last = examined.length < EXAMINED_MAX ? examinedTo : (examined.at(-1)?.id ?? null)
  return pageFound(pool, { rows: found, examinedTo: last }, rowsMax)
}
