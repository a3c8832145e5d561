import { cancelDelivery, getDelivery, listDeliveries } from '../../deliveries/index.js'
import { checkEventType, getEvent, listEvents, listSetAsideEvents } from '../../events/index.js'
import type { Api, ApiOptions } from '../api.js'
import { present, withJsonField } from '../present.js'
import { type HttpErrorCode, refuse } from '../problem.js'
import { access } from '../require-scope.js'
import {
  delivery,
  deliveryFilter,
  deliveryWithAttempts,
  event,
  eventFilter,
  eventIdParameter,
  eventWithPayload,
  idParameter,
  pageFilter,
  pageOf,
  setAsideEvent,
} from '../schemas.js'

export const queryRefusals = ['query_invalid', 'event_type_invalid'] as const

export function addEventReadRoutes(api: Api, { pools }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/events',
    config: { access: access.read, refusals: queryRefusals },
    schema: {
      operationId: 'listEvents',
      summary: 'List events, newest first',
      tags: ['events'],
      querystring: eventFilter,
      response: { 200: pageOf(event) },
    },
    handler: async ({ query }) => present(await listEvents(pools.reads, withTimes(query))),
  })

  api.route({
    method: 'GET',
    url: '/v1/events/set-aside',
    config: { access: access.read, refusals: ['query_invalid'] },
    schema: {
      operationId: 'listSetAsideEvents',
      summary: 'List events that the database refuses to route, newest first',
      description:
        'They hold up no other event. Once the cause is gone, `sagapost events requeue` routes them.',
      tags: ['events'],
      querystring: pageFilter,
      response: { 200: pageOf(setAsideEvent) },
    },
    handler: async ({ query }) => present(await listSetAsideEvents(pools.reads, query)),
  })

  api.route({
    method: 'GET',
    url: '/v1/events/:id',
    config: { access: access.read, refusals: ['event_not_found'] },
    schema: {
      operationId: 'getEvent',
      summary: 'One event with its payload and deliveries',
      description: 'By its id or its webhookId. A webhookId of another event that once had the same id: 404.',
      tags: ['events'],
      params: eventIdParameter,
      response: { 200: eventWithPayload },
    },
    async handler({ params }, reply) {
      const found = required(await getEvent(pools.reads, params.id), 'event_not_found', 'event', params.id)
      const { payload, ...rest } = found
      return reply
        .type('application/json')
        .serializer(asItIs)
        .send(withJsonField(rest, 'payload', payload) as never)
    },
  })
}

export function addDeliveryRoutes(api: Api, { pools, log }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/deliveries',
    config: { access: access.read, refusals: queryRefusals },
    schema: {
      operationId: 'listDeliveries',
      summary: 'List deliveries, newest first',
      description: 'A page may be shorter than its limit, even empty, and still have a nextCursor.',
      tags: ['deliveries'],
      querystring: deliveryFilter,
      response: { 200: pageOf(delivery) },
    },
    async handler({ query }) {
      if (query.eventType !== undefined) checkEventType(query.eventType)
      return present(await listDeliveries(pools.reads, query))
    },
  })

  api.route({
    method: 'GET',
    url: '/v1/deliveries/:id',
    config: { access: access.read, refusals: ['delivery_not_found'] },
    schema: {
      operationId: 'getDelivery',
      summary: 'One delivery with its attempts, oldest first',
      tags: ['deliveries'],
      params: idParameter,
      response: { 200: deliveryWithAttempts },
    },
    handler: async ({ params: { id } }) =>
      present(required(await getDelivery(pools.reads, id), 'delivery_not_found', 'delivery', id)),
  })

  api.route({
    method: 'POST',
    url: '/v1/deliveries/:id/cancel',
    config: {
      access: access.cancelDeliveries,
      refusals: ['delivery_not_found', 'delivery_not_cancellable'],
    },
    schema: {
      operationId: 'cancelDelivery',
      summary: 'Cancel a delivery',
      description:
        'Answers 202 with the delivery in its current state. It ends as a dead letter with `cancelled`, which can be ' +
        'requeued. A request in flight is not called back; if it succeeds, the delivery completes. Repeatable without ' +
        'an Idempotency-Key.',
      tags: ['deliveries'],
      params: idParameter,
      response: { 202: deliveryWithAttempts },
    },
    async handler({ params: { id }, caller }, reply) {
      await cancelDelivery(pools.deadLetters, id)
      log.info(
        { saga_id: id, requested_by: `API key ${caller?.keyId ?? 'of the administrator'}` },
        'delivery cancellation requested',
      )
      const found = required(await getDelivery(pools.reads, id), 'delivery_not_found', 'delivery', id)
      return reply.code(202).send(present(found))
    },
  })
}

export function withTimes<Query extends { from?: string | undefined; to?: string | undefined }>(
  query: Query,
) {
  const { from, to, ...rest } = query
  return { ...rest, from: from && new Date(from), to: to && new Date(to) } as Omit<Query, 'from' | 'to'> & {
    from: Date | undefined
    to: Date | undefined
  }
}

export function required<Found>(found: Found | null, code: HttpErrorCode, what: string, id: string): Found {
  if (found === null) throw refuse(code, `there is no ${what} ${id.slice(0, 40)}`)
  return found
}

/** Already JSON. */
export function asItIs(text: unknown): string {
  return text as string
}
