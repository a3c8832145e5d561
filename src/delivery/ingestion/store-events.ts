import type pg from 'pg'
import { prepared } from '../../database/index.js'
import {
  type EventCheck,
  type EventRefusal,
  eventTimeUs,
  type NewEvent,
  refuseEvent,
  webhookIdOf,
} from '../../model/index.js'

interface StoredEvent {
  id: string
  /** The `webhook-id` that receivers get. */
  webhookId: string
  type: string
  createdAt: Date
  /** The key exists with the same type and payload, so nothing was stored. */
  duplicate: boolean
}

export type StoreOutcome = StoredEvent | { refusal: EventRefusal }

// Without keys there is nothing to look up, and a plain INSERT suffices. Rows come back in the order in which they were
// given. docs/internals/hot-statements.md: payloads as one list, times as numbers.
const insertEvents = prepared(`
  INSERT INTO sagapost.events AS event (event_type, payload, correlation_id, traceparent)
  SELECT type, payload, correlation_id, traceparent
  FROM ROWS FROM (unnest($1::text[]), json_array_elements($2::json), unnest($3::text[]), unnest($4::text[]))
    AS given (type, payload, correlation_id, traceparent)
  RETURNING id, ${eventTimeUs} AS at_us`)

// The same for payloads with white space around them, which an element of a list would lose.
const insertPaddedEvents = prepared(`
  INSERT INTO sagapost.events AS event (event_type, payload, correlation_id, traceparent)
  SELECT type, payload::json, correlation_id, traceparent
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (type, payload, correlation_id, traceparent)
  RETURNING id, ${eventTimeUs} AS at_us`)

/** JSON white space (RFC 8259): space is the highest of its characters. */
const SPACE = 0x20

function isPadded(payload: string): boolean {
  return payload.charCodeAt(0) <= SPACE || payload.charCodeAt(payload.length - 1) <= SPACE
}

function payloadsOf(events: readonly NewEvent[]): { payloads: string | string[]; isList: boolean } {
  const payloads = events.map(({ payload }) => payload)
  return payloads.some(isPadded)
    ? { payloads, isList: false }
    : { payloads: `[${payloads.join()}]`, isList: true }
}

// One round trip and one commit for the whole batch; keys by event_keys_pkey. A key that another transaction holds is waited
// for no longer than $6, or as the session says if it is null, until the end of the transaction, which is this statement's
// own unless the caller began one (docs/internals/hot-statements.md: settings before a function).
const publishBatch = (payloads: string) =>
  prepared(`
  WITH limited AS MATERIALIZED (
    SELECT CASE WHEN $6::text IS NOT NULL THEN set_config('lock_timeout', $6, true) ELSE '' END AS lock_timeout
  )
  SELECT item, id, ${eventTimeUs} AS at_us, duplicate, conflict
  FROM limited, sagapost.publish_batch(
    CASE WHEN limited.lock_timeout IS NOT NULL THEN $1::text[] END, ${payloads}, $3::text[], $4::text[], $5::text[]) AS event`)
const publishList = publishBatch('ARRAY(SELECT json_array_elements($2::json))')
const publishPadded = publishBatch('$2::text[]::json[]')

interface Row {
  item: number
  id: string | null
  at_us: number
  duplicate: boolean
  conflict: boolean
}

export interface StoreOptions extends EventCheck {
  /** How long to wait for a key that another transaction holds, at least 1. Default: the session's lock_timeout. */
  lockWaitMs?: number
}

/**
 * Stores a batch under the role event_ingest_writer and returns an outcome per item, in order; a bad item does not fail
 * the others. When this throws, the batch may or may not be stored: with keys, a retry is safe. A batch that mixes
 * items with and without keys needs a transaction of the caller's.
 */
export async function storeEvents(
  pool: pg.Pool | pg.PoolClient,
  events: readonly NewEvent[],
  options: StoreOptions = {},
): Promise<StoreOutcome[]> {
  const outcomes = await storeOnce(pool, events, options)
  const left = events.filter((_, index) => outcomes[index] === undefined)
  const stored = left.length === 0 ? [] : await storeEvents(pool, left, options)
  return outcomes.map((outcome) => outcome ?? (stored.shift() as StoreOutcome))
}

/**
 * The same in one statement. The outcome is undefined when the item's key expired at that moment: the item is not
 * stored, and a retry stores it.
 */
export async function storeOnce(
  pool: pg.Pool | pg.PoolClient,
  events: readonly NewEvent[],
  options: StoreOptions = {},
): Promise<(StoreOutcome | undefined)[]> {
  const refusals = events.map((event) => refuseEvent(event, options))
  const good = events.filter((_, index) => refusals[index] === null)
  const hasKeys = good.some(({ idempotencyKey }) => idempotencyKey !== undefined)
  const stored =
    good.length === 0 ? [] : await (hasKeys ? storeKeyed(pool, good, options) : storePlain(pool, good))
  let next = 0
  return refusals.map((refusal) => (refusal ? { refusal } : stored[next++]))
}

async function storePlain(
  pool: pg.Pool | pg.PoolClient,
  events: readonly NewEvent[],
): Promise<StoreOutcome[]> {
  const { payloads, isList } = payloadsOf(events)
  const insert = isList ? insertEvents : insertPaddedEvents
  const { rows } = await pool.query<{ id: string; at_us: number }>(insert, [
    events.map(({ type }) => type),
    payloads,
    events.map(({ correlationId }) => correlationId ?? null),
    events.map(({ traceparent }) => traceparent ?? null),
  ])
  return rows.map(({ id, at_us: atUs }, index) => {
    const { type } = events[index] as NewEvent
    return toStored(id, type, atUs, false)
  })
}

async function storeKeyed(
  pool: pg.Pool | pg.PoolClient,
  events: readonly NewEvent[],
  { lockWaitMs }: StoreOptions,
): Promise<(StoreOutcome | undefined)[]> {
  const { payloads, isList } = payloadsOf(events)
  const { rows } = await pool.query<Row>(isList ? publishList : publishPadded, [
    events.map(({ type }) => type),
    payloads,
    events.map(({ idempotencyKey }) => idempotencyKey ?? null),
    events.map(({ correlationId }) => correlationId ?? null),
    events.map(({ traceparent }) => traceparent ?? null),
    lockWaitMs === undefined ? null : `${lockWaitMs}ms`,
  ])
  return rows.map(({ item, id, at_us: atUs, duplicate, conflict }) => {
    const event = events[item - 1] as NewEvent
    // The key expired between the two statements of the function.
    if (id === null) return undefined
    if (conflict) return { refusal: conflictWith(event, id) }
    return toStored(id, event.type, atUs, duplicate)
  })
}

/**
 * A duplicate takes its key's time, which was stored in one transaction with the event: the webhook id is the event's.
 */
function toStored(id: string, type: string, atUs: number, duplicate: boolean): StoredEvent {
  return { id, webhookId: webhookIdOf(id, atUs), type, createdAt: new Date(atUs / 1e3), duplicate }
}

function conflictWith(event: NewEvent, id: string): EventRefusal {
  return {
    code: 'idempotency_conflict',
    field: 'idempotencyKey',
    detail: `the key "${event.idempotencyKey}" was used for another event (id ${id})`,
  }
}
