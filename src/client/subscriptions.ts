import type { components } from './api-types.js'
import type { CallApi } from './call-api.js'
import type { Page, PageRequest } from './events.js'
import { makeKey } from './make-key.js'
import type { CallOptions } from './send-request.js'
import { walkPages } from './walk-pages.js'

type Schemas = components['schemas']

export type Subscription = Schemas['Subscription']
export type NewSubscription = Schemas['NewSubscription']
export type SubscriptionChange = Schemas['SubscriptionChange']
/** Includes the `secret` that receivers verify with, which is shown only once. */
export type CreatedSubscription = Schemas['CreatedSubscription']
export type RotatedSecret = Schemas['RotatedSecret']
export type TestOutcome = Schemas['TestOutcome']

export interface SubscriptionFilter {
  eventType?: string
  active?: boolean
  /** Absent: both deleted and other subscriptions. */
  deleted?: boolean
  /** Whether the last attempt failed, that is, `breaker` is set. */
  failing?: boolean
}

export interface KeyedOptions extends CallOptions {
  /** Repeating a request with its key creates nothing new. By default, a random key covers the retries. */
  idempotencyKey?: string
}

export interface RotateOptions extends KeyedOptions {
  /** How long requests are signed with both secrets; default 24 hours. */
  overlapMs?: number
  scheme?: 'v1' | 'v1a'
}

export interface Subscriptions {
  /** Nothing is sent to the subscription before it is verified. */
  create(subscription: NewSubscription, options?: KeyedOptions): Promise<CreatedSubscription>
  get(id: string, options?: CallOptions): Promise<Subscription>
  list(filter?: SubscriptionFilter & PageRequest, options?: CallOptions): Promise<Page<Subscription>>
  /** Every subscription that matches the filter, newest first. */
  all(filter?: SubscriptionFilter, options?: CallOptions): AsyncGenerator<Subscription, void, undefined>
  /** Changes only the given fields. */
  change(id: string, change: SubscriptionChange, options?: CallOptions): Promise<Subscription>
  /** Permanent and repeatable. */
  delete(id: string, options?: CallOptions): Promise<void>
  /** Verifies the callback and activates the subscription, or throws `verification_failed`. Not retried automatically. */
  verify(id: string, options?: CallOptions): Promise<{ verified: true; active: true }>
  rotateSecret(id: string, options?: RotateOptions): Promise<RotatedSecret>
  /** Sends a signed test request and returns the response. Not retried automatically. */
  test(id: string, options?: CallOptions): Promise<TestOutcome>
}

const path = '/v1/subscriptions'

export function createSubscriptions(call: CallApi): Subscriptions {
  const list: Subscriptions['list'] = async (filter = {}, options = {}) =>
    (await call('get', path, { ...options, query: { ...filter } })).body

  return {
    async create(subscription, { idempotencyKey = makeKey(), ...options } = {}) {
      const body = JSON.stringify(subscription)
      const headers = { 'idempotency-key': idempotencyKey }
      return (await call('post', path, { ...options, body, headers, repeatable: true })).body
    },
    get: async (id, options = {}) => (await call('get', `${path}/{id}`, { ...options, id })).body,
    list,
    all: (filter = {}, options) => walkPages((page) => list({ ...filter, ...page }, options)),
    async change(id, change, options = {}) {
      return (await call('patch', `${path}/{id}`, { ...options, id, body: JSON.stringify(change) })).body
    },
    async delete(id, options = {}) {
      await call('delete', `${path}/{id}`, { ...options, id })
    },
    verify: async (id, options = {}) => (await call('post', `${path}/{id}/verify`, { ...options, id })).body,
    async rotateSecret(id, { idempotencyKey = makeKey(), overlapMs, scheme, ...options } = {}) {
      const body = JSON.stringify({ overlapMs, scheme })
      const headers = { 'idempotency-key': idempotencyKey }
      const request = { ...options, id, body, headers, repeatable: true }
      return (await call('post', `${path}/{id}/rotate-secret`, request)).body
    },
    test: async (id, options = {}) => (await call('post', `${path}/{id}/test`, { ...options, id })).body,
  }
}
