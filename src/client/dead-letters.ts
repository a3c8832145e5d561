import type { components } from './api-types.js'
import type { CallApi } from './call-api.js'
import { cutMember } from './cut-member.js'
import type { Page, PageRequest } from './events.js'
import { makeKey } from './make-key.js'
import type { CallOptions } from './send-request.js'
import type { KeyedOptions } from './subscriptions.js'
import { walkPages } from './walk-pages.js'

type Schemas = components['schemas']

export type DeadLetter = Schemas['DeadLetter']
/** `payloadSnapshotJson` is the payload, byte for byte as published. */
export type DeadLetterWithPayload = Schemas['DeadLetterWithPayload'] & { payloadSnapshotJson: string }

export interface DeadLetterFilter {
  subscriptionId?: string
  eventType?: string
  errorCode?: string
  /** Inclusive. */
  from?: string | Date
  /** Exclusive. */
  to?: string | Date
}

export interface RequeueFilter extends DeadLetterFilter {
  /** Selects all dead letters; an empty filter is refused. */
  all?: true
}

export type StartedRequeue = Schemas['StartedRequeue']

/** `steps[0].progress` of the saga. `matching` is the sum of the others. */
export interface RequeueProgress {
  matching: number
  requeued: number
  /** Requeued by another request, before or in the meantime. */
  alreadyRequeued: number
  refused: number
  /** The number refused for each reason. */
  refusals: Record<string, number>
  remaining: number
}

export interface DeadLetters {
  get(id: string, options?: CallOptions): Promise<DeadLetterWithPayload>
  list(filter?: DeadLetterFilter & PageRequest, options?: CallOptions): Promise<Page<DeadLetter>>
  /** Every dead letter that matches the filter, newest first. */
  all(filter?: DeadLetterFilter, options?: CallOptions): AsyncGenerator<DeadLetter, void, undefined>
  /** Delivers the event to the subscription again. A repeated call returns the same delivery. */
  requeue(id: string, options?: CallOptions): Promise<{ deliveryId: string }>
  /** Starts a saga that requeues the present matches. `sagas.get` shows its progress, `sagas.cancel` stops it. */
  requeueMatching(filter: RequeueFilter, options?: KeyedOptions): Promise<StartedRequeue>
  /** Counts the dead letters that a requeue would handle. */
  countMatching(filter: RequeueFilter, options?: CallOptions): Promise<number>
}

export function createDeadLetters(call: CallApi): DeadLetters {
  const list: DeadLetters['list'] = async (filter = {}, options = {}) =>
    (await call('get', '/v1/dead-letters', { ...options, query: { ...filter } })).body

  return {
    async get(id, options = {}) {
      const { body, text } = await call('get', '/v1/dead-letters/{id}', { ...options, id })
      return { ...body, payloadSnapshotJson: cutMember(text, 'payloadSnapshot') ?? 'null' }
    },
    list,
    all: (filter = {}, options) => walkPages((page) => list({ ...filter, ...page }, options)),
    requeue: async (id, options = {}) =>
      (await call('post', '/v1/dead-letters/{id}/requeue', { ...options, id, repeatable: true })).body,
    async requeueMatching(filter, { idempotencyKey = makeKey(), ...options } = {}) {
      const body = JSON.stringify({ filter })
      const headers = { 'idempotency-key': idempotencyKey }
      const request = { ...options, body, headers, repeatable: true }
      return (await call('post', '/v1/dead-letters/requeue', request)).body as StartedRequeue
    },
    async countMatching(filter, options = {}) {
      const body = JSON.stringify({ filter, dryRun: true })
      return (await call('post', '/v1/dead-letters/requeue', { ...options, body, repeatable: true })).body
        .matching
    },
  }
}
