import type { Invariant } from './invariant.js'

const oneSagaPerEventAndSubscription = `
  SELECT min(id)::text AS id, format('%s deliveries of event %s to subscription %s', count(*), event_id, subscription_id) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas
  WHERE requeued_from IS NULL AND event_id >= $1 AND event_id < $2
  GROUP BY event_id, subscription_id HAVING count(*) > 1
  LIMIT $3`

const deliveriesReferToWhatExists = `
  SELECT saga.id, format('event %s is there: %s, subscription %s: %s', saga.event_id, event.id IS NOT NULL,
           saga.subscription_id, subscription.id IS NOT NULL) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.events AS event ON event.id = saga.event_id AND event.id >= $1 AND event.id < $2
  LEFT JOIN sagapost.subscriptions AS subscription ON subscription.id = saga.subscription_id
  WHERE saga.event_id >= $1 AND saga.event_id < $2 AND (event.id IS NULL OR subscription.id IS NULL)
  LIMIT $3`

const queuedEventExists = `
  SELECT queued.event_id AS id, format('queued as %s, stored as %L', queued.event_type, event.event_type) AS detail,
         count(*) OVER () AS total
  FROM sagapost.unrouted_events AS queued
  LEFT JOIN sagapost.events AS event ON event.id = queued.event_id AND event.id >= $1 AND event.id < $2
  WHERE queued.event_id >= $1 AND queued.event_id < $2 AND event.event_type IS DISTINCT FROM queued.event_type
  LIMIT $3`

const setAsideEventExists = `
  SELECT aside.event_id AS id, format('set aside as %s, stored as %L', aside.event_type, event.event_type) AS detail,
         count(*) OVER () AS total
  FROM sagapost.set_aside_events AS aside
  LEFT JOIN sagapost.events AS event ON event.id = aside.event_id AND event.id >= $1 AND event.id < $2
  WHERE aside.event_id >= $1 AND aside.event_id < $2 AND event.event_type IS DISTINCT FROM aside.event_type
  LIMIT $3`

// The queue's row goes in the transaction that makes the sagas or sets the event aside. Only where a subscription was
// active before the event was stored, which subscription_routes knows: there is no alarm about events around that time.
const routedOrQueued = `
  SELECT event_id AS id, format('no delivery to subscription %s, neither queued nor set aside', subscription_id) AS detail,
         count(*) OVER () AS total
  FROM sagapost.lost_events($1, $2)
  LIMIT $3`

// Of each row that is routed in pieces, the event that its place is in; the others are routed, or queued as a whole.
const routedUpToPlace = `
  SELECT begun.event_id AS id, format('no delivery to subscription %s, and its place is subscription %s',
           route.subscription_id, begun.last_subscription_id) AS detail,
         count(*) OVER () AS total
  FROM (
    SELECT event_type, event_ids[routed_events + 1] AS event_id, last_subscription_id
    FROM sagapost.event_routing_queue WHERE last_subscription_id > 0
  ) AS begun
  JOIN sagapost.subscription_routes AS route ON route.event_type = begun.event_type
    AND route.subscription_id <= begun.last_subscription_id AND route.first_event_id <= begun.event_id
  JOIN sagapost.subscriptions AS subscription ON subscription.id = route.subscription_id
    AND subscription.active AND subscription.verified AND subscription.event_type = route.event_type
  LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.event_id = begun.event_id AND saga.event_id >= $1 AND saga.event_id < $2
      AND saga.subscription_id = route.subscription_id AND saga.requeued_from IS NULL
  WHERE begun.event_id >= $1 AND begun.event_id < $2 AND saga.id IS NULL
  LIMIT $3`

/** `id` is the delivery's, or the event's. */
export const routingInvariants: readonly Invariant[] = [
  { name: 'one_saga_per_event_and_subscription', rules: ['S3', 'R3'], sql: oneSagaPerEventAndSubscription },
  { name: 'deliveries_refer_to_what_exists', rules: ['R2', 'E2'], sql: deliveriesReferToWhatExists },
  { name: 'queued_event_exists', rules: ['R1'], sql: queuedEventExists },
  { name: 'set_aside_event_exists', rules: ['R1'], sql: setAsideEventExists },
  { name: 'routed_or_queued', rules: ['R1', 'R2', 'R5'], sql: routedOrQueued },
  { name: 'routed_up_to_place', rules: ['R1', 'R2', 'R5'], sql: routedUpToPlace },
]

// The queue's row goes in the transaction that makes the sagas: an event has the one or the others at any moment.
const everyRouteHasItsSaga = `
  SELECT event.id, format('no delivery to subscription %s, and not in the queue', route.subscription_id) AS detail,
         count(*) OVER () AS total
  FROM sagapost.events AS event
  JOIN unnest($4::text[], $5::bigint[]) AS route (event_type, subscription_id) ON route.event_type = event.event_type
  LEFT JOIN sagapost.unrouted_events AS queued ON queued.event_id = event.id
  LEFT JOIN sagapost.set_aside_events AS aside ON aside.event_id = event.id
  LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.event_id = event.id AND saga.event_id >= $1 AND saga.event_id < $2
      AND saga.subscription_id = route.subscription_id AND saga.requeued_from IS NULL
  WHERE event.id >= $1 AND event.id < $2 AND queued.event_id IS NULL AND aside.event_id IS NULL AND saga.id IS NULL
  LIMIT $3`

const noSagaWithoutRoute = `
  SELECT saga.id, format('event %s of type %s to subscription %s', event.id, event.event_type, saga.subscription_id) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  JOIN sagapost.events AS event
    ON event.id = saga.event_id AND event.id >= $1 AND event.id < $2 AND event.event_type = ANY ($4::text[])
  WHERE saga.event_id >= $1 AND saga.event_id < $2 AND NOT EXISTS (
    SELECT FROM unnest($4::text[], $5::bigint[]) AS route (event_type, subscription_id)
    WHERE route.event_type = event.event_type AND route.subscription_id = saga.subscription_id)
  LIMIT $3`

/** Need the routes that stood unchanged since before the first event of their types: $4 types, $5 subscriptions. */
export const routeInvariants: readonly Invariant[] = [
  { name: 'every_route_has_its_saga', rules: ['R1', 'R2', 'R5'], sql: everyRouteHasItsSaga },
  { name: 'no_saga_without_route', rules: ['R2', 'U5'], sql: noSagaWithoutRoute },
]

const nothingLeftToRoute = `
  SELECT event_id AS id, format('%s since %s', state, since) AS detail, count(*) OVER () AS total
  FROM (SELECT event_id, 'queued' AS state, enqueued_at AS since FROM sagapost.unrouted_events
        UNION ALL
        SELECT event_id, 'set aside', set_aside_at FROM sagapost.set_aside_events) AS waiting
  WHERE event_id >= $1 AND event_id < $2
  LIMIT $3`

// What is held for an inactive subscription is where it shall be.
const nothingLeftOpen = `
  SELECT id, format('%s since %s', status, updated_at) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  WHERE status NOT IN ('Completed', 'DeadLettered') AND event_id >= $1 AND event_id < $2 AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_jobs AS job
    JOIN sagapost.subscriptions AS subscription ON subscription.id = job.subscription_id
    WHERE job.saga_id = saga.id AND job.event_id = saga.event_id AND job.event_id >= $1 AND job.event_id < $2
      AND job.status = 'Pending'
      AND job.lease_until = sagapost.held_until(job.subscription_id)
      AND NOT subscription.active AND subscription.deleted_at IS NULL)
  LIMIT $3`

const deletedSubscriptionHasNoOpenDelivery = `
  SELECT saga.id, format('%s, and subscription %s was deleted at %s', saga.status, subscription.id, subscription.deleted_at) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  JOIN sagapost.subscriptions AS subscription
    ON subscription.id = saga.subscription_id AND subscription.deleted_at IS NOT NULL
  WHERE saga.status NOT IN ('Completed', 'DeadLettered') AND saga.event_id >= $1 AND saga.event_id < $2
  LIMIT $3`

/** Hold once everything that was published has come to its end. */
export const settledInvariants: readonly Invariant[] = [
  { name: 'nothing_left_to_route', rules: ['R1'], sql: nothingLeftToRoute },
  { name: 'nothing_left_open', rules: ['S5', 'S22'], sql: nothingLeftOpen },
  {
    name: 'deleted_subscription_has_no_open_delivery',
    rules: ['S15', 'S17'],
    sql: deletedSubscriptionHasNoOpenDelivery,
  },
]
