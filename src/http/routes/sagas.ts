import type { Caller } from '../../api-keys/index.js'
import {
  blindBox,
  cancelSaga,
  createPostgresStorage,
  isSagaId,
  pageSagas,
  resolveSaga,
  showSaga,
} from '../../sagas/index.js'
import type { Api, ApiOptions } from '../api.js'
import { present } from '../present.js'
import { refuse } from '../problem.js'
import { access } from '../require-scope.js'
import {
  sagaCancel,
  sagaFilter,
  sagaIdParameter,
  sagaInstance,
  sagaResolution,
  sagaWithSteps,
} from '../saga-schemas.js'
import { pageOf } from '../schemas.js'

/** Reads, cancels and resolves sagas. The API does not start them, as their steps are application code. */
export function addSagaRoutes(api: Api, { pools, onSagaChanged }: ApiOptions): void {
  const storage = createPostgresStorage({ pool: pools.sagas, dataBox: blindBox })
  const show = async (id: string) => {
    const found = await showSaga(pools.reads, id)
    if (found === null) throw notFound(id)
    return found
  }

  api.route({
    method: 'GET',
    url: '/v1/sagas',
    config: { access: access.read, refusals: ['query_invalid'] },
    schema: {
      operationId: 'listSagas',
      summary: 'List sagas, newest first',
      description: 'A page may be shorter than its limit and still have a nextCursor.',
      tags: ['sagas'],
      querystring: sagaFilter,
      response: { 200: pageOf(sagaInstance) },
    },
    handler: async ({ query: { awaitingOperator, ...filter } }) =>
      present(await pageSagas(pools.reads, { ...filter, awaitingOperator: awaitingOperator === 'true' })),
  })

  api.route({
    method: 'GET',
    url: '/v1/sagas/:id',
    config: { access: access.read, refusals: ['saga_not_found'] },
    schema: {
      operationId: 'getSaga',
      summary: 'Get a saga with its steps and history',
      tags: ['sagas'],
      params: sagaIdParameter,
      response: { 200: sagaWithSteps },
    },
    handler: async ({ params: { id } }) => present(await show(id)),
  })

  api.route({
    method: 'POST',
    url: '/v1/sagas/:id/cancel',
    config: {
      access: access.settleSagas,
      refusals: ['saga_not_found', 'saga_not_cancellable', 'saga_resolution_invalid'],
    },
    schema: {
      operationId: 'cancelSaga',
      summary: 'Cancel a saga and compensate its completed steps',
      description: 'Returns 202 with the saga in its current state. Repeatable.',
      tags: ['sagas'],
      params: sagaIdParameter,
      body: sagaCancel,
      response: { 202: sagaInstance },
    },
    async handler({ params: { id }, body, caller }, reply) {
      if (!isSagaId(id)) throw notFound(id)
      const outcome = await cancelSaga(storage, id, { by: withKey(body.by, caller), reason: body.why })
      if (outcome === 'too_late') {
        const { state } = await show(id)
        throw refuse('saga_not_cancellable', `saga ${id} is ${state}: it can no longer be cancelled`)
      }
      onSagaChanged?.()
      return reply.code(202).send(present(await show(id)))
    },
  })

  api.route({
    method: 'POST',
    url: '/v1/sagas/:id/resolve',
    config: {
      access: access.settleSagas,
      refusals: ['saga_not_found', 'saga_not_awaiting_operator', 'saga_resolution_invalid'],
    },
    schema: {
      operationId: 'resolveSaga',
      summary: 'Decide how a saga that waits for an operator continues',
      description:
        'For a Failed saga whose compensation failed or, with `skip`, a Running saga with a step that waits for something that will not arrive.',
      tags: ['sagas'],
      params: sagaIdParameter,
      body: sagaResolution,
      response: { 200: sagaInstance },
    },
    async handler({ params: { id }, body, caller }) {
      if (!isSagaId(id)) throw notFound(id)
      await resolveSaga(storage, id, { ...body, by: withKey(body.by, caller) })
      onSagaChanged?.()
      return present(await show(id))
    },
  })
}

/** The given name is unverified, so the key is recorded with it. */
function withKey(by: string, caller: Caller | null): string {
  // A blank name is left as it is, and refused.
  if (by.trim() === '') return by
  return `${by} (API key ${caller?.keyId ?? 'of the administrator'})`
}

function notFound(id: string) {
  return refuse('saga_not_found', `there is no saga ${id.slice(0, 40)}`)
}
