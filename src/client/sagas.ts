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
  /** Those only that wait for an operator. */
  awaitingOperator?: true
}

export interface Sagas {
  /** With its steps and its history. */
  get(id: string, options?: CallOptions): Promise<SagaWithSteps>
  /** A page may be shorter than its limit and still have a next one. */
  list(filter?: SagaFilter & PageRequest, options?: CallOptions): Promise<Page<Saga>>
  /** Every saga that the filter finds, newest first. */
  all(filter?: SagaFilter, options?: CallOptions): AsyncGenerator<Saga, void, undefined>
  /** Stops it and undoes what it has done; asked again, nothing more happens. */
  cancel(id: string, request: SagaCancel, options?: CallOptions): Promise<Saga>
  /** Says what becomes of a saga that waits for an operator. */
  resolve(id: string, resolution: SagaResolution, options?: CallOptions): Promise<Saga>
  /** For the sagas that wait for it, now or later; the first one of a name and key counts. */
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
    // Not sent again by itself: a retry that fails at once would be asked for twice.
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
