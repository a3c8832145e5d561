import type pg from 'pg'
import { cutBatch, inTransaction, isRefusal, prepared, type QueueRow } from '../database/index.js'
import { makePossible } from './make-possible.js'
import { type MakeDeliveries, makeAll, type RefusedEvent } from './make-sagas.js'
import type { SubscriptionCache } from './subscription-cache.js'

// Oldest first by event_routing_queue_pkey, as many rows as make up some $1 events; other routers take other rows. The
// version is read in the same snapshot as the rows: a subscription that committed before is seen [R5]. `lazily`: this
// commit need not wait for the disk. Should a crash lose it, the events stand in the queue again, and are routed again.
export const takeEvents = prepared(`
  WITH size AS MATERIALIZED (
    SELECT greatest(1, $1 / (
      SELECT cardinality(event_ids) FROM sagapost.event_routing_queue ORDER BY id LIMIT 1)) AS rows_max
  )
  SELECT id, event_type, event_ids, correlation_ids, cardinality(event_ids) AS size,
    (SELECT rows_max FROM size) AS rows_max, (SELECT version FROM sagapost.subscription_version) AS version,
    (SELECT set_config('synchronous_commit', 'off', true)) AS lazily
  FROM sagapost.event_routing_queue
  ORDER BY id LIMIT (SELECT rows_max FROM size)
  FOR UPDATE SKIP LOCKED`)

// One probe of event_routing_queue_pkey: a third of what an empty routing transaction costs.
const lookForEvents = prepared('SELECT EXISTS (SELECT FROM sagapost.event_routing_queue) AS found')

export async function hasUnroutedEvents(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(lookForEvents)
  return rows[0]?.found === true
}

export interface RoutedBatch {
  events: { id: string; type: string; correlationId: string | null; subscriptions: number }[]
  /** Made now; a repeated routing makes none. */
  deliveries: number
  /** What the database refused and was set aside; not among `events`. */
  refused: RefusedEvent[]
  /** Whether the queue may hold more. */
  more: boolean
}

interface QueuedEvents extends QueueRow {
  id: string
  event_type: string
  event_ids: string[]
  correlation_ids: (string | null)[] | null
  version: string
}

/** Routes up to `batchMax` stored events in one transaction under the role router_worker [R1, R2]. */
export async function routeEvents(
  pool: pg.Pool,
  cache: SubscriptionCache,
  batchMax: number,
): Promise<RoutedBatch> {
  try {
    return await routeBatch(pool, cache, { batchMax, make: makeAll })
  } catch (error) {
    if (!isRefusal(error)) throw error
    return routeBatch(pool, cache, { batchMax, make: makePossible })
  }
}

async function routeBatch(
  pool: pg.Pool,
  cache: SubscriptionCache,
  { batchMax, make }: { batchMax: number; make: MakeDeliveries },
): Promise<RoutedBatch> {
  return inTransaction(pool, async (client) => {
    const { rows: taken } = await client.query<QueuedEvents>(takeEvents, [batchMax])
    const { batch, more } = cutBatch(taken, batchMax)
    const [first] = batch
    if (!first) return { events: [], deliveries: 0, refused: [], more: false }
    const routes = await cache.at(first.version, client)
    const events = batch.flatMap(({ event_type: type, event_ids, correlation_ids }) => {
      const subscriptions = routes.get(type) ?? []
      return event_ids.map((id, index) => {
        return { id, type, correlationId: correlation_ids?.[index] ?? null, subscriptions }
      })
    })
    const queueIds = batch.map(({ id }) => id)
    const { deliveries, refused } = await make(client, queueIds, events)
    const routed =
      refused.length === 0 ? events : events.filter(({ id }) => !refused.some((each) => each.id === id))
    return {
      events: routed.map((event) => ({ ...event, subscriptions: event.subscriptions.length })),
      deliveries,
      refused,
      more,
    }
  })
}
