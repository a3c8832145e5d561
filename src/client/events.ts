import type { components } from './api-types.js'
import type { CallApi } from './call-api.js'
import { cutMember } from './cut-member.js'
import { makeKey } from './make-key.js'
import type { CallOptions } from './send-request.js'
import { walkPages } from './walk-pages.js'
import { type NewEvent, writeEvent } from './write-event.js'

type Schemas = components['schemas']

export type Event = Schemas['Event']
export type EventReceipt = Schemas['EventReceipt']
export type ItemError = Schemas['ItemError']
export type SetAsideEvent = Schemas['SetAsideEvent']
/** `payloadJson` is the payload, byte for byte as published. */
export type EventWithPayload = Schemas['EventWithPayload'] & { payloadJson: string }

export interface EventFilter {
  type?: string
  /** Matches the one event published with this key. */
  idempotencyKey?: string
  /** Inclusive. */
  from?: string | Date
  /** Exclusive. */
  to?: string | Date
}

export interface PageRequest {
  /** Default 50, at most 200. */
  limit?: number
  /** `nextCursor` of the previous page. */
  cursor?: string
}

export interface Page<Item> {
  data: Item[]
  /** Null: the last page. */
  nextCursor: string | null
}

export interface PublishOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters without spaces; correlation id, sent to receivers and written to the logs. */
  correlationId?: string
  /** W3C Trace Context. */
  traceparent?: string
}

export interface PublishBatchOptions extends PublishOptions {
  /** For the whole batch: items without their own key get one derived from their index. */
  idempotencyKey?: string
}

export interface Events {
  /**
   * The event is stored durably when this resolves. Without an `idempotencyKey`, a random key makes the retries of this
   * call store one event (`duplicate` is then always false). Only your own key makes a second call safe.
   */
  publish(event: NewEvent, options?: PublishOptions): Promise<EventReceipt>
  /** Up to 1,000 events, with results in order. A refused event does not affect the others. */
  publishBatch(
    events: readonly NewEvent[],
    options?: PublishBatchOptions,
  ): Promise<(EventReceipt | ItemError)[]>
  /** By id or `webhookId`. */
  get(id: string, options?: CallOptions): Promise<EventWithPayload>
  list(filter?: EventFilter & PageRequest, options?: CallOptions): Promise<Page<Event>>
  /** Every event that matches the filter, newest first. */
  all(filter?: EventFilter, options?: CallOptions): AsyncGenerator<Event, void, undefined>
  /** Events that the database refused to route, newest first. */
  listSetAside(page?: PageRequest, options?: CallOptions): Promise<Page<SetAsideEvent>>
  allSetAside(options?: CallOptions): AsyncGenerator<SetAsideEvent, void, undefined>
}

export function createEvents(call: CallApi): Events {
  const list: Events['list'] = async (filter = {}, options = {}) =>
    (await call('get', '/v1/events', { ...options, query: { ...filter } })).body

  const listSetAside: Events['listSetAside'] = async (page = {}, options = {}) =>
    (await call('get', '/v1/events/set-aside', { ...options, query: { ...page } })).body

  return {
    async publish(event, options = {}) {
      const body = writeEvent({ ...event, idempotencyKey: event.idempotencyKey ?? makeKey() })
      const headers = contextHeaders(options)
      const receipt = (await call('post', '/v1/events', { ...options, body, headers, repeatable: true })).body
      return event.idempotencyKey === undefined ? newByOurKey(receipt) : receipt
    },
    async publishBatch(events, { idempotencyKey, ...options } = {}) {
      const body = `{"events":[${events.map(writeEvent).join(',')}]}`
      const headers = { ...contextHeaders(options), 'idempotency-key': idempotencyKey ?? makeKey() }
      const answer = await call('post', '/v1/events/batch', { ...options, body, headers, repeatable: true })
      return answer.body.results.map((result, index) => {
        const byOurKey = idempotencyKey === undefined && events[index]?.idempotencyKey === undefined
        return byOurKey && 'id' in result ? newByOurKey(result) : result
      })
    },
    async get(id, options = {}) {
      const { body, text } = await call('get', '/v1/events/{id}', { ...options, id })
      return { ...body, payloadJson: cutMember(text, 'payload') ?? 'null' }
    },
    list,
    all: (filter = {}, options) => walkPages((page) => list({ ...filter, ...page }, options)),
    listSetAside,
    allSetAside: (options) => walkPages((page) => listSetAside(page, options)),
  }
}

/** The random key is unique, so a duplicate was stored by an earlier attempt of the same call. */
function newByOurKey(receipt: EventReceipt): EventReceipt {
  return { ...receipt, duplicate: false }
}

function contextHeaders({ correlationId, traceparent }: PublishOptions) {
  return { 'sagapost-correlation-id': correlationId, traceparent }
}
