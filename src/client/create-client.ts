import { createCallApi } from './call-api.js'
import { createDeadLetters, type DeadLetters } from './dead-letters.js'
import { createDeliveries, type Deliveries } from './deliveries.js'
import { createEvents, type Events } from './events.js'
import { createSagas, type Sagas } from './sagas.js'
import type { CallOptions, Fetch } from './send-request.js'
import { createSubscriptions, type Subscriptions } from './subscriptions.js'

export interface ClientOptions extends Pick<CallOptions, 'timeoutMs' | 'retries'> {
  /** The server's URL: `https://sagapost.example`, with a path if a proxy adds one. */
  baseUrl: string
  apiKey: string
  /** Replaces the platform's fetch. */
  fetch?: Fetch
}

export interface SagapostClient {
  events: Events
  subscriptions: Subscriptions
  deliveries: Deliveries
  deadLetters: DeadLetters
  sagas: Sagas
}

/** A client of Sagapost's HTTP API, for Node and browsers. It holds no connections and needs no closing. */
export function createClient({ fetch, ...access }: ClientOptions): SagapostClient {
  const call = createCallApi({ ...access, fetch: fetch ?? ((url, init) => globalThis.fetch(url, init)) })
  return {
    events: createEvents(call),
    subscriptions: createSubscriptions(call),
    deliveries: createDeliveries(call),
    deadLetters: createDeadLetters(call),
    sagas: createSagas(call),
  }
}
