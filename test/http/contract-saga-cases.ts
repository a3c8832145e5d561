import { bodyCases, type Case, fixed, idCases, listCases, noQuery } from './contract-case.js'
import type { World } from './contract-world.js'

const asked = { by: 'ann', why: 'contract' }
const resolution = { action: 'resolve', ...asked }
const blank = { by: ' ', why: 'contract' }
const signal = { name: 'contract', key: 'k', payload: { n: 1 } }

const nobody =
  (action: string, body: object): Case =>
  ({ call }) =>
    Promise.all(
      ['999', 'x', 'e5a5d1c2-0000-4000-8000-000000000000', '%00', 'z'.repeat(99)].map((id) =>
        call('POST', `/v1/sagas/${id}/${action}`, { body }),
      ),
    )

const cancelPath = async ({ saga }: World) => `/v1/sagas/${await saga()}/cancel`
const resolvePath = async ({ stuckSaga }: World) => `/v1/sagas/${await stuckSaga()}/resolve`

/** Every answer of the calls on sagas, by operationId. */
export const sagaCases: Record<string, Record<string, Case>> = {
  listSagas: listCases('/v1/sagas', 'state=Pending&definition=idle&traceId=abc&awaitingOperator=true'),

  getSaga: {
    ...idCases('GET', '/v1/sagas', '', 'saga_not_found'),
    '200': async ({ call, saga, stuckSaga }) => [
      await call('GET', `/v1/sagas/${await saga()}`),
      await call('GET', `/v1/sagas/${await stuckSaga()}`),
    ],
    request_invalid: noQuery('GET', fixed('/v1/sagas/1')),
  },

  cancelSaga: {
    ...bodyCases('POST', cancelPath),
    saga_not_found: nobody('cancel', asked),
    '202': async (world) => {
      const path = await cancelPath(world)
      return [
        await world.call('POST', path, { body: asked }),
        await world.call('POST', path, { body: asked }),
      ]
    },
    saga_not_cancellable: async ({ call, stuckSaga }) =>
      call('POST', `/v1/sagas/${await stuckSaga()}/cancel`, { body: asked }),
    saga_resolution_invalid: async (world) => [
      await world.call('POST', await cancelPath(world), { body: blank }),
      await world.call('POST', await cancelPath(world), { body: { ...asked, why: 'a\u0000b' } }),
    ],
  },

  resolveSaga: {
    ...bodyCases('POST', resolvePath),
    saga_not_found: nobody('resolve', resolution),
    '200': async (world) => [
      await world.call('POST', await resolvePath(world), { body: resolution }),
      await world.call('POST', await resolvePath(world), { body: { ...resolution, action: 'retry' } }),
      await world.call('POST', await resolvePath(world), { body: { ...resolution, action: 'skip' } }),
    ],
    saga_not_awaiting_operator: async (world) => {
      const path = await resolvePath(world)
      await world.call('POST', path, { body: resolution })
      return [
        await world.call('POST', path, { body: resolution }),
        await world.call('POST', `/v1/sagas/${await world.saga()}/resolve`, { body: resolution }),
      ]
    },
    saga_resolution_invalid: async (world) =>
      world.call('POST', await resolvePath(world), { body: { ...resolution, ...blank } }),
  },

  sendSignal: {
    ...bodyCases('POST', fixed('/v1/signals')),
    '202': async ({ call }) => [
      await call('POST', '/v1/signals', { body: signal }),
      await call('POST', '/v1/signals', { body: signal }),
      await call('POST', '/v1/signals', { body: { name: 'contract', key: 'bare' } }),
    ],
    signal_conflict: async ({ call }) => {
      await call('POST', '/v1/signals', { body: signal })
      return call('POST', '/v1/signals', { body: { ...signal, payload: 2 } })
    },
    signal_invalid: async ({ call }) => [
      await call('POST', '/v1/signals', { body: { ...signal, name: '7' } }),
      await call('POST', '/v1/signals', { body: { ...signal, key: '' } }),
      await call('POST', '/v1/signals', { body: { ...signal, payload: 'x'.repeat(70_000) } }),
      await call('POST', '/v1/signals', { body: { ...signal, payload: { $sagapost_sealed: 'AAAA' } } }),
    ],
    idempotency_key_busy: ({ call, whileKeyIsHeld }) =>
      whileKeyIsHeld('busy', () => call('POST', '/v1/signals', { body: { name: 'held', key: 'busy' } })),
  },
}

export const sagaBodies = { cancelSaga: asked, resolveSaga: resolution, sendSignal: signal }
