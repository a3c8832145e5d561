import type { components } from './api-types.js'
import type { CallApi } from './call-api.js'
import type { Page, PageRequest } from './events.js'
import type { CallOptions } from './send-request.js'
import { walkPages } from './walk-pages.js'

type Schemas = components['schemas']

export type Saga = Schemas['Saga']
export type SagaState = Saga['state']
export type SagaStep = Schemas['SagaStep']
export type SagaEvent = Schemas['SagaEvent']
export type SagaWithSteps = Schemas['SagaWithSteps']
export type SagaCancel = Schemas['SagaCancel']
export type SagaResolution = Schemas['SagaResolution']
export type NewSignal = Schemas['NewSignal']
export type SignalReceipt = Schemas['SignalReceipt']

export interface SagaFilter {
  state?: SagaState
  /** The name of a definition. */
  definition?: string
  traceId?: string
  /** Only sagas that wait for an operator. */
  awaitingOperator?: true
}

export interface Sagas {
  /** Includes the steps and the history. */
  get(id: string, options?: CallOptions): Promise<SagaWithSteps>
  /** A page may be shorter than its limit although more follow. */
  list(filter?: SagaFilter & PageRequest, options?: CallOptions): Promise<Page<Saga>>
  /** Every saga that matches the filter, newest first. */
  all(filter?: SagaFilter, options?: CallOptions): AsyncGenerator<Saga, void, undefined>
  /** Cancels the saga and compensates its completed steps. Repeatable. */
  cancel(id: string, request: SagaCancel, options?: CallOptions): Promise<Saga>
  /** Decides how a saga that waits for an operator continues. */
  resolve(id: string, resolution: SagaResolution, options?: CallOptions): Promise<Saga>
  /** Sends a signal to the sagas that wait for it, now or later. Only the first with a name and key counts. */
  signal(signal: NewSignal, options?: CallOptions): Promise<SignalReceipt>
}

export function createSagas(call: CallApi): Sagas {
  const list: Sagas['list'] = async (filter = {}, options = {}) =>
    (await call('get', '/v1/sagas', { ...options, query: { ...filter } })).body

  return {
    get: async (id, options = {}) => (await call('get', '/v1/sagas/{id}', { ...options, id })).body,
    list,
    all: (filter = {}, options) => walkPages((page) => list({ ...filter, ...page }, options)),
    async cancel(id, request, options = {}) {
      const body = JSON.stringify(request)
      return (await call('post', '/v1/sagas/{id}/cancel', { ...options, id, body, repeatable: true })).body
    },
    // Not retried automatically: a retry that fails at once would be requested twice.
    async resolve(id, resolution, options = {}) {
      const body = JSON.stringify(resolution)
      return (await call('post', '/v1/sagas/{id}/resolve', { ...options, id, body })).body
    },
    async signal(signal, options = {}) {
      const body = JSON.stringify(signal)
      return (await call('post', '/v1/signals', { ...options, body, repeatable: true })).body
    },
  }
}
