import { getDeadLetter, listDeadLetters, requeueDeadLetter } from '../../dead-letters/index.js'
import { getDelivery, listDeliveries } from '../../deliveries/index.js'
import { getEvent, listEvents } from '../../events/index.js'
import type { Api, ApiOptions } from '../api.js'
import { present, withJsonField } from '../present.js'
import { type HttpErrorCode, refuse } from '../problem.js'
import { access } from '../require-scope.js'
import {
  deadLetter,
  deadLetterFilter,
  deadLetterWithPayload,
  delivery,
  deliveryFilter,
  deliveryWithAttempts,
  event,
  eventFilter,
  eventWithPayload,
  idParameter,
  pageOf,
  requeued,
} from '../schemas.js'

const queryRefusals = ['query_invalid', 'event_type_invalid'] as const

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
    url: '/v1/events/:id',
    config: { access: access.read, refusals: ['event_not_found'] },
    schema: {
      operationId: 'getEvent',
      summary: 'One event with its payload and deliveries',
      tags: ['events'],
      params: idParameter,
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

export function addDeliveryRoutes(api: Api, { pools }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/deliveries',
    config: { access: access.read, refusals: ['query_invalid'] },
    schema: {
      operationId: 'listDeliveries',
      summary: 'List deliveries, newest first',
      tags: ['deliveries'],
      querystring: deliveryFilter,
      response: { 200: pageOf(delivery) },
    },
    handler: async ({ query }) => present(await listDeliveries(pools.reads, query)),
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
}

export function addDeadLetterRoutes(api: Api, { pools, onRequeued, metrics }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/dead-letters',
    config: { access: access.read, refusals: queryRefusals },
    schema: {
      operationId: 'listDeadLetters',
      summary: 'List dead letters, newest first',
      tags: ['dead letters'],
      querystring: deadLetterFilter,
      response: { 200: pageOf(deadLetter) },
    },
    handler: async ({ query }) => present(await listDeadLetters(pools.reads, withTimes(query))),
  })

  api.route({
    method: 'GET',
    url: '/v1/dead-letters/:id',
    config: { access: access.read, refusals: ['dead_letter_not_found'] },
    schema: {
      operationId: 'getDeadLetter',
      summary: 'One dead letter with the payload as it was',
      tags: ['dead letters'],
      params: idParameter,
      response: { 200: deadLetterWithPayload },
    },
    async handler({ params: { id } }, reply) {
      const found = required(await getDeadLetter(pools.reads, id), 'dead_letter_not_found', 'dead letter', id)
      const { payloadSnapshot, ...rest } = found
      return reply
        .type('application/json')
        .serializer(asItIs)
        .send(withJsonField(rest, 'payloadSnapshot', payloadSnapshot) as never)
    },
  })

  api.route({
    method: 'POST',
    url: '/v1/dead-letters/:id/requeue',
    config: { access: access.requeue, refusals: ['dead_letter_not_found', 'subscription_inactive'] },
    schema: {
      operationId: 'requeueDeadLetter',
      summary: 'Deliver the event to the subscription again',
      description:
        'A new delivery: 201. Asked again: 200 and the same delivery, so it needs no Idempotency-Key.',
      tags: ['dead letters'],
      params: idParameter,
      response: { 200: requeued, 201: requeued },
    },
    async handler({ params: { id } }, reply) {
      const { deliveryId, created } = await requeueDeadLetter(pools.deadLetters, id)
      metrics?.requeued(created)
      if (created) onRequeued?.()
      return reply.code(created ? 201 : 200).send({ deliveryId })
    },
  })
}

function withTimes<Query extends { from?: string | undefined; to?: string | undefined }>(query: Query) {
  const { from, to, ...rest } = query
  return { ...rest, from: from && new Date(from), to: to && new Date(to) } as Omit<Query, 'from' | 'to'> & {
    from: Date | undefined
    to: Date | undefined
  }
}

function required<Found>(found: Found | null, code: HttpErrorCode, what: string, id: string): Found {
  if (found === null) throw refuse(code, `there is no ${what} ${id.slice(0, 40)}`)
  return found
}

/** Already JSON. */
function asItIs(text: unknown): string {
  return text as string
}
