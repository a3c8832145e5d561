import type pg from 'pg'
import { inTransaction, isRefusal, prepared } from '../../database/index.js'
import { cutPiece } from './cut-deliveries.js'
import { makePossible } from './make-possible.js'
import { type MakeDeliveries, makeAll } from './make-sagas.js'
import { type QueuedEvents, type RoutedBatch, routableEvents, withoutRefused } from './route-events.js'
import type { SubscriptionCache } from './subscription-cache.js'

/** Limit per transaction. It takes some 50 ms, for which a new event has to wait. */
const DELIVERIES_PER_PIECE_MAX = 2_000

// The oldest row at the back of the queue, by event_routing_queue_pkey; other routers take others. The version and the
// commit are as in takeEvents: the place is written with the deliveries, so that a crash loses both or neither.
export const takeLargeRow = prepared(`
  SELECT id, event_type, event_ids, correlation_ids, routed_events, last_subscription_id,
    (SELECT version FROM sagapost.subscription_version) AS version,
    (SELECT set_config('synchronous_commit', 'off', true)) AS lazily
  FROM sagapost.event_routing_queue
  WHERE id >= 1::bigint << 52 ORDER BY id LIMIT 1
  FOR UPDATE SKIP LOCKED`)

const removeRow = 'DELETE FROM sagapost.event_routing_queue WHERE id = $1'
const setPlace = prepared(`
  UPDATE sagapost.event_routing_queue SET routed_events = $2, last_subscription_id = $3 WHERE id = $1`)

interface LargeRow extends QueuedEvents {
  routed_events: number
  last_subscription_id: string
}

/**
 * Creates the next deliveries of a row too large for one transaction; null when there is none, or other routers hold
 * them all. Each transaction uses the subscriptions it sees, in id order [R5]: one that stays active is met once, and
 * one activated meanwhile gets the event if its id is still ahead.
 */
export async function spreadEvents(
  pool: pg.Pool,
  cache: SubscriptionCache,
  deliveriesMax = DELIVERIES_PER_PIECE_MAX,
): Promise<RoutedBatch | null> {
  try {
    return await spreadPiece(pool, cache, { deliveriesMax, make: makeAll })
  } catch (error) {
    if (!isRefusal(error)) throw error
    return spreadPiece(pool, cache, { deliveriesMax, make: makePossible })
  }
}

async function spreadPiece(
  pool: pg.Pool,
  cache: SubscriptionCache,
  { deliveriesMax, make }: { deliveriesMax: number; make: MakeDeliveries },
): Promise<RoutedBatch | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<LargeRow>(takeLargeRow)
    const [row] = rows
    if (!row) return null
    const events = routableEvents(row, await cache.at(row.version, client))
    const place = { routedEvents: row.routed_events, lastSubscriptionId: row.last_subscription_id }
    const { piece, isLastCut } = cutPiece(events, place, deliveriesMax)
    const { deliveries, refused } = await make(client, [], piece)
    const last = piece.at(-1)
    // An event that was set aside is not continued.
    const isBegun = isLastCut && !refused.some(({ id }) => id === last?.id)
    const routedEvents = place.routedEvents + piece.length - (isBegun ? 1 : 0)
    const lastSubscriptionId = isBegun ? last?.subscriptions.at(-1) : 0
    if (routedEvents < events.length) await client.query(setPlace, [row.id, routedEvents, lastSubscriptionId])
    else await client.query(removeRow, [row.id])
    return {
      events: withoutRefused(events.slice(place.routedEvents, routedEvents), refused),
      deliveries,
      refused,
    }
  })
}
