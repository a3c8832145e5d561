import type pg from 'pg'
import { databaseErrorCode, inTransaction, prepared } from '../database/index.js'
import type { SubscriptionCache } from './subscription-cache.js'

// Oldest first by event_routing_queue_pkey; other routers take other rows. The version is read in the same
// snapshot as the rows: a subscription that committed before is seen [R5]. `lazily`: this commit need not wait for the
// disk. Should a crash lose it, the events stand in the queue again, and are routed again.
export const takeEvents = prepared(`
  SELECT event_id, event_type, correlation_id, (SELECT version FROM sagapost.subscription_version) AS version,
    (SELECT set_config('synchronous_commit', 'off', true)) AS lazily
  FROM sagapost.event_routing_queue
  ORDER BY event_id LIMIT $1
  FOR UPDATE SKIP LOCKED`)

// The rows of the queue go with the sagas or not at all, so no event comes here twice, and an INSERT that asks for
// conflicts would cost each delivery a WAL record more.
export const makeSagas = prepared(`
  WITH done AS (
    DELETE FROM sagapost.event_routing_queue WHERE event_id = ANY ($1::bigint[])
  )
  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, correlation_id)
  SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[])`)

// For a queue that somebody has filled again by hand: uniq_saga_event_subscription makes a second routing of the same
// event a no-op [S3, R3].
const makeMissingSagas = `
  ${makeSagas} ON CONFLICT (event_id, subscription_id) WHERE requeued_from IS NULL DO NOTHING`

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
}

/** Routes up to `batchMax` stored events in one transaction under the role router_worker [R1, R2]. */
export async function routeEvents(
  pool: pg.Pool,
  cache: SubscriptionCache,
  batchMax: number,
): Promise<RoutedBatch> {
  try {
    return await routeBatch(pool, cache, { batchMax, insert: makeSagas })
  } catch (error) {
    if (databaseErrorCode(error) !== 'delivery_exists') throw error
    return routeBatch(pool, cache, { batchMax, insert: makeMissingSagas })
  }
}

async function routeBatch(
  pool: pg.Pool,
  cache: SubscriptionCache,
  { batchMax, insert }: { batchMax: number; insert: string },
): Promise<RoutedBatch> {
  return inTransaction(pool, async (client) => {
    const { rows: events } = await client.query<{
      event_id: string
      event_type: string
      correlation_id: string | null
      version: string
    }>(takeEvents, [batchMax])
    const [first] = events
    if (!first) return { events: [], deliveries: 0 }
    const routes = await cache.at(first.version, client)
    const pairs = events.flatMap((event) =>
      (routes.get(event.event_type) ?? []).map((subscriptionId) => ({ event, subscriptionId })),
    )
    const { rowCount } = await client.query(insert, [
      events.map(({ event_id }) => event_id),
      pairs.map(({ event }) => event.event_id),
      pairs.map(({ subscriptionId }) => subscriptionId),
      pairs.map(({ event }) => event.correlation_id),
    ])
    return {
      events: events.map((event) => ({
        id: event.event_id,
        type: event.event_type,
        correlationId: event.correlation_id,
        subscriptions: routes.get(event.event_type)?.length ?? 0,
      })),
      deliveries: rowCount ?? 0,
    }
  })
}
