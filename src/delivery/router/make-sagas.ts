import type pg from 'pg'
import { prepared } from '../../database/index.js'

// The rows of the queue go with the sagas or not at all, so no event comes here twice, and an INSERT that asks for
// conflicts would cost each delivery a WAL record more.
export const makeSagas = prepared(`
  WITH done AS (
    DELETE FROM sagapost.event_routing_queue WHERE id = ANY ($1::bigint[])
  )
  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, correlation_id)
  SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[])`)

export interface RoutableEvent {
  id: string
  type: string
  correlationId: string | null
  /** Ids of the subscriptions that receive the event. */
  subscriptions: readonly string[]
}

export interface RefusedEvent extends RoutableEvent {
  error: pg.DatabaseError
}

/** Creates the deliveries of events and removes their rows from the queue. */
export type MakeDeliveries = (
  client: pg.PoolClient,
  queueIds: readonly string[],
  events: readonly RoutableEvent[],
) => Promise<{ deliveries: number; refused: RefusedEvent[] }>

/** Creates all deliveries or none. */
export const makeAll: MakeDeliveries = async (client, queueIds, events) => {
  const { rowCount } = await client.query(makeSagas, [queueIds, ...toPairs(events)])
  return { deliveries: rowCount ?? 0, refused: [] }
}

/** The events, subscriptions and correlation ids of the deliveries to create, as makeSagas takes them. */
export function toPairs(events: readonly RoutableEvent[]): [string[], string[], (string | null)[]] {
  const pairs = events.flatMap(({ subscriptions, ...event }) =>
    subscriptions.map((subscriptionId) => ({ ...event, subscriptionId })),
  )
  return [
    pairs.map(({ id }) => id),
    pairs.map(({ subscriptionId }) => subscriptionId),
    pairs.map(({ correlationId }) => correlationId),
  ]
}
