import type pg from 'pg'
import { cutBatch, inTransaction, isRefusal, prepared, type QueueRow } from '../../database/index.js'
import { cutDeliveries } from './cut-deliveries.js'
import { makePossible } from './make-possible.js'
import { type MakeDeliveries, makeAll, type RefusedEvent, type RoutableEvent } from './make-sagas.js'
import type { SubscriptionCache } from './subscription-cache.js'

/** Limit per transaction; without it, a batch could grow with its events' subscriptions until it hit the time limit. */
const DELIVERIES_PER_BATCH_MAX = 5_000

const columns = `queue.id, event_type, event_ids, correlation_ids, cardinality(event_ids) AS size,
    (SELECT version FROM sagapost.subscription_version) AS version,
    (SELECT set_config('synchronous_commit', 'off', true)) AS lazily`

// Oldest first by event_routing_queue_pkey, as many rows as make up some $1 events; other routers take other rows. The
// version is read in the same snapshot as the rows: a subscription that committed before is seen [R5]. `lazily`: this
// commit need not wait for the disk. Should a crash lose it, the events stand in the queue again, and are routed again.
export const takeEvents = prepared(`
  WITH size AS MATERIALIZED (
    SELECT greatest(1, $1 / (
      SELECT cardinality(event_ids) FROM sagapost.event_routing_queue
      WHERE id < 1::bigint << 52 ORDER BY id LIMIT 1)) AS rows_max
  )
  SELECT ${columns}, (SELECT rows_max FROM size) AS rows_max
  FROM sagapost.event_routing_queue AS queue
  WHERE id < 1::bigint << 52 ORDER BY id LIMIT (SELECT rows_max FROM size)
  FOR UPDATE SKIP LOCKED`)

/** Queue rows that one look past a backlog reads. */
const NEWEST_ROWS = 500
/** Per type, the rows that start within this many bytes of ids: three rows of fifty events, or some forty of one. */
const BYTES_PER_TYPE = 1_024
// The newest rows by event_routing_queue_pkey, of each type a few: what is published beside a backlog does not wait for
// it. The type that is first in the queue gets none, since those are routed anyway. Rows are measured by the bytes of their
// ids, which are known without reading them.
export const takePassing = prepared(`
  WITH newest AS MATERIALIZED (
    SELECT id, event_type, pg_column_size(event_ids) AS bytes FROM sagapost.event_routing_queue
    WHERE id < 1::bigint << 52 ORDER BY id DESC LIMIT ${NEWEST_ROWS}
  ), turns AS (
    SELECT id, sum(bytes) OVER (PARTITION BY event_type ORDER BY id) - bytes AS place FROM newest
    WHERE event_type <> (SELECT event_type FROM sagapost.event_routing_queue ORDER BY id LIMIT 1)
  ), passing AS MATERIALIZED (
    SELECT id, place FROM turns WHERE place < ${BYTES_PER_TYPE} ORDER BY place, id LIMIT $1
  )
  SELECT ${columns}, $1::int AS rows_max
  FROM passing JOIN sagapost.event_routing_queue AS queue ON queue.id = ANY (ARRAY[passing.id])
  ORDER BY place, queue.id FOR UPDATE OF queue SKIP LOCKED`)

// They stand behind all others from then on, and are routed by spreadEvents.
const moveToBack = prepared(`
  UPDATE sagapost.event_routing_queue SET id = id + (1::bigint << 52), routed_events = 0, last_subscription_id = 0
  WHERE id = ANY ($1::bigint[])`)

// The last entry of event_routing_queue_pkey: a third of what an empty routing transaction costs.
const lookForEvents = prepared(`
  SELECT id >= 1::bigint << 52 AS large FROM sagapost.event_routing_queue ORDER BY id DESC LIMIT 1`)

/** Whether events wait in the queue, and whether some of them go to many subscriptions. */
export async function lookForUnrouted(pool: pg.Pool): Promise<{ found: boolean; large: boolean }> {
  const { rows } = await pool.query<{ large: boolean }>(lookForEvents)
  return { found: rows.length > 0, large: rows[0]?.large === true }
}

export interface RoutedBatch {
  events: { id: string; type: string; correlationId: string | null; subscriptions: number }[]
  /** Deliveries created now; a repeated routing creates none. */
  deliveries: number
  /** Events that the database refused and that were set aside; not counted in `events`. */
  refused: RefusedEvent[]
}

interface RoutedRows extends RoutedBatch {
  /** Whether the queue may hold more. */
  more: boolean
  /** Rows that were moved to the back of the queue, for spreadEvents. */
  large: number
}

export interface QueuedEvents {
  id: string
  event_type: string
  event_ids: string[]
  correlation_ids: (string | null)[] | null
  version: string
}

/**
 * Routes up to `batchMax` stored events in one transaction under the role router_worker [R1, R2], creating at most
 * `deliveriesMax` deliveries. With `passing`, routes the newest events, a few per type, past a backlog.
 */
export async function routeEvents(
  pool: pg.Pool,
  cache: SubscriptionCache,
  batchMax: number,
  {
    deliveriesMax = DELIVERIES_PER_BATCH_MAX,
    passing = false,
  }: { deliveriesMax?: number; passing?: boolean } = {},
): Promise<RoutedRows> {
  const options = { batchMax, deliveriesMax, take: passing ? takePassing : takeEvents }
  try {
    return await routeBatch(pool, cache, { ...options, make: makeAll })
  } catch (error) {
    if (!isRefusal(error)) throw error
    return routeBatch(pool, cache, { ...options, make: makePossible })
  }
}

interface Batch {
  batchMax: number
  deliveriesMax: number
  take: typeof takeEvents
  make: MakeDeliveries
}

async function routeBatch(
  pool: pg.Pool,
  cache: SubscriptionCache,
  { batchMax, deliveriesMax, take, make }: Batch,
): Promise<RoutedRows> {
  return inTransaction(pool, async (client) => {
    const { rows: taken } = await client.query<QueuedEvents & QueueRow>(take, [batchMax])
    const { batch: rows, more } = cutBatch(taken, batchMax)
    const [first] = rows
    if (!first) return { events: [], deliveries: 0, refused: [], more: false, large: 0 }
    const routes = await cache.at(first.version, client)
    const { batch, large, isCut } = cutDeliveries(
      rows.map((row) => ({ id: row.id, events: routableEvents(row, routes) })),
      deliveriesMax,
    )
    if (large.length > 0) await client.query(moveToBack, [large.map(({ id }) => id)])
    const queueIds = batch.map(({ id }) => id)
    const events = batch.flatMap((row) => row.events)
    const { deliveries, refused } = await make(client, queueIds, events)
    return {
      events: withoutRefused(events, refused),
      deliveries,
      refused,
      more: more || isCut,
      large: large.length,
    }
  })
}

export function routableEvents(
  { event_type: type, event_ids, correlation_ids }: QueuedEvents,
  routes: ReadonlyMap<string, readonly string[]>,
): RoutableEvent[] {
  const subscriptions = routes.get(type) ?? []
  return event_ids.map((id, index) => {
    return { id, type, correlationId: correlation_ids?.[index] ?? null, subscriptions }
  })
}

export function withoutRefused(
  events: readonly RoutableEvent[],
  refused: readonly RefusedEvent[],
): RoutedBatch['events'] {
  const routed =
    refused.length === 0 ? events : events.filter(({ id }) => !refused.some((each) => each.id === id))
  return routed.map((event) => ({ ...event, subscriptions: event.subscriptions.length }))
}
