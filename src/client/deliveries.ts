import type { components } from './api-types.js'
import type { CallApi } from './call-api.js'
import type { Page, PageRequest } from './events.js'
import type { CallOptions } from './send-request.js'
import { walkPages } from './walk-pages.js'

type Schemas = components['schemas']

export type Delivery = Schemas['Delivery']
export type DeliveryStatus = Delivery['status']
export type Attempt = Schemas['Attempt']
export type DeliveryWithAttempts = Schemas['DeliveryWithAttempts']

export interface DeliveryFilter {
  status?: DeliveryStatus
  eventId?: string
  subscriptionId?: string
  /** Error code of the last failure; matches deliveries in PendingRetry and DeadLettered. */
  errorCode?: string
  eventType?: string
}

export interface Deliveries {
  /** Includes the attempts, oldest first. */
  get(id: string, options?: CallOptions): Promise<DeliveryWithAttempts>
  /** A page may be shorter than its limit, even empty, although more follow; `all` reads every page. */
  list(filter?: DeliveryFilter & PageRequest, options?: CallOptions): Promise<Page<Delivery>>
  /** Every delivery that matches the filter, newest first. */
  all(filter?: DeliveryFilter, options?: CallOptions): AsyncGenerator<Delivery, void, undefined>
  /** Stops the delivery, which ends as a dead letter with `cancelled`. Repeatable. */
  cancel(id: string, options?: CallOptions): Promise<DeliveryWithAttempts>
}

export function createDeliveries(call: CallApi): Deliveries {
  const list: Deliveries['list'] = async (filter = {}, options = {}) =>
    (await call('get', '/v1/deliveries', { ...options, query: { ...filter } })).body

  return {
    get: async (id, options = {}) => (await call('get', '/v1/deliveries/{id}', { ...options, id })).body,
    list,
    all: (filter = {}, options) => walkPages((page) => list({ ...filter, ...page }, options)),
    cancel: async (id, options = {}) =>
      (await call('post', '/v1/deliveries/{id}/cancel', { ...options, id, repeatable: true })).body,
  }
}
