import { countMatching, requeueDeadLetters } from '../../built-in-sagas/index.js'
import { getDeadLetter, listDeadLetters, requeueDeadLetter } from '../../delivery/index.js'
import { asItIs, queryRefusals, required, withTimes } from '../answer-reads.js'
import type { Api, ApiOptions } from '../api.js'
import { present, withJsonField } from '../present.js'
import { readHeaderKey } from '../read-events.js'
import { access } from '../require-scope.js'
import {
  deadLetter,
  deadLetterFilter,
  deadLetterWithPayload,
  idParameter,
  matchingLetters,
  pageOf,
  requeued,
  requeueRequest,
  startedRequeue,
} from '../schemas.js'

/** Lists and shows dead letters, and requeues one or all that match a filter. */
export function addDeadLetterRoutes(
  api: Api,
  { pools, onRequeued, onSagaChanged, metrics }: ApiOptions,
): void {
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
      summary: 'Get a dead letter with its original payload',
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
    config: {
      access: access.requeue,
      refusals: ['dead_letter_not_found', 'subscription_inactive', 'subscription_deleted'],
    },
    schema: {
      operationId: 'requeueDeadLetter',
      summary: 'Requeue a dead letter',
      description:
        'Creates a new delivery (201). A repeated request returns the same delivery (200), so no Idempotency-Key is needed.',
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

  api.route({
    method: 'POST',
    url: '/v1/dead-letters/requeue',
    config: {
      access: access.requeue,
      requestHeaders: ['Idempotency-Key'],
      refusals: [
        ...queryRefusals,
        ...(['requeue_filter_empty', 'requeue_too_large'] as const),
        ...(['idempotency_key_invalid', 'idempotency_conflict'] as const),
      ],
    },
    schema: {
      operationId: 'requeueDeadLetters',
      summary: 'Requeue all dead letters that match a filter',
      description:
        'Starts a saga, which the part `sagas` runs: GET /v1/sagas/{id} shows its progress in `steps[0].progress`, ' +
        'POST /v1/sagas/{id}/cancel stops it; deliveries requeued by then remain. Later dead letters are not included. With ' +
        'an `Idempotency-Key`, the same request again gets the same saga.',
      tags: ['dead letters'],
      body: requeueRequest,
      response: { 200: matchingLetters, 202: startedRequeue },
    },
    async handler({ body, headers, caller }, reply) {
      const filter = withTimes(body.filter)
      if (body.dryRun) return { matching: await countMatching(pools.reads, filter) }
      const { sagaId, matching, created } = await requeueDeadLetters(pools.deadLetters, filter, {
        idempotencyKey: readHeaderKey(headers),
        requestedBy: `API key ${caller?.keyId ?? 'of the administrator'}`,
      })
      if (created) onSagaChanged?.()
      return reply.code(202).header('location', `/v1/sagas/${sagaId}`).send({ sagaId, matching })
    },
  })
}
