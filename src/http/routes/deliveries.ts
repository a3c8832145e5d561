import { cancelDelivery, getDelivery, listDeliveries } from '../../delivery/index.js'
import { checkEventType } from '../../model/index.js'
import { queryRefusals, required } from '../answer-reads.js'
import type { Api, ApiOptions } from '../api.js'
import { present } from '../present.js'
import { access } from '../require-scope.js'
import { delivery, deliveryFilter, deliveryWithAttempts, idParameter, pageOf } from '../schemas.js'

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
      summary: 'Get a delivery with its attempts, oldest first',
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
        'Returns 202 with the delivery in its current state. It ends as a dead letter with `cancelled`, which can be ' +
        'requeued. A request in flight is not aborted; if it succeeds, the delivery completes. Repeatable without ' +
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
