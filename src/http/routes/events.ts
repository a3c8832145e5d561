import {
  type EventStore,
  getEvent,
  listEvents,
  listSetAsideEvents,
  type StoreOutcome,
} from '../../delivery/index.js'
import { defaultEventLimits, type EventRefusal, type NewEvent } from '../../model/index.js'
import { asItIs, queryRefusals, required, withTimes } from '../answer-reads.js'
import type { Api, ApiOptions } from '../api.js'
import { explainError } from '../explain-error.js'
import { limitBytesInFlight } from '../limit-bytes-in-flight.js'
import type { NoteIngested } from '../note-ingested.js'
import { present, withJsonField } from '../present.js'
import { isHttpErrorCode, type ProblemError, refuseField } from '../problem.js'
import { readText } from '../read-body.js'
import { type ReadEvent, readEvent, readEventBatch, readEventContext } from '../read-events.js'
import { inTurns } from '../read-in-turns.js'
import { access } from '../require-scope.js'
import {
  batchReceipt,
  event,
  eventFilter,
  eventIdParameter,
  eventReceipt,
  eventWithPayload,
  newEvent,
  newEventBatch,
  pageFilter,
  pageOf,
  setAsideEvent,
} from '../schemas.js'

/** Allowance for the type, the key and whitespace around a payload of the maximum size. */
const BODY_BYTES_MAX = defaultEventLimits.payloadBytesMax + 64 * 1024
const BATCH_BODY_BYTES_MAX = 16 * 1024 * 1024
const UNAVAILABLE = 503

/**
 * Publishes events. The body is not parsed into values: the schemas serve only the OpenAPI document, and read-events.ts
 * extracts the payload's bytes. Receipts are built here, so they are not validated either.
 */
export function addPublishRoutes(
  api: Api,
  { store, note, requireKey = false }: { store: EventStore; note: NoteIngested; requireKey?: boolean },
): void {
  const admit = requireKey ? refuseKeyless : (event: ReadEvent) => event

  limitBytesInFlight(api)
  api.removeContentTypeParser('application/json')
  api.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })

  api.route({
    method: 'POST',
    url: '/v1/events',
    bodyLimit: BODY_BYTES_MAX,
    config: {
      access: access.publish,
      requestHeaders: ['Idempotency-Key', 'sagapost-correlation-id', 'traceparent'],
      refusals: [
        ...[
          'event_type_invalid',
          'event_type_reserved',
          'event_invalid',
          'payload_invalid',
          'payload_too_large',
        ],
        ...['idempotency_key_required', 'idempotency_key_invalid'],
        ...['idempotency_conflict', 'idempotency_key_busy'],
        ...['overloaded', 'too_much_at_once', 'partition_missing'],
      ] as const,
    },
    schema: {
      operationId: 'publishEvent',
      summary: 'Publish an event',
      description:
        'The event is stored durably when the response is 202. An `Idempotency-Key` header counts as the event’s ' +
        '`idempotencyKey`; `sagapost-correlation-id` and `traceparent` are kept with the event.',
      tags: ['events'],
      body: newEvent,
      response: { 202: eventReceipt },
    },
    validatorCompiler: () => () => true,
    serializerCompiler: () => JSON.stringify,
    async handler(request, reply) {
      const reading = inTurns(readEvent(readText(bodyOf(request)), readEventContext(request.headers)))
      // A small body is read synchronously: awaiting would cost each request a turn.
      const event = admit(reading instanceof Promise ? await reading : reading)
      const outcome = 'refusal' in event ? event : await store.store(event)
      note(event, outcome)
      if ('refusal' in outcome) throw refused(outcome.refusal)
      return reply.code(202).send(receiptOf(outcome))
    },
  })

  api.route({
    method: 'POST',
    url: '/v1/events/batch',
    bodyLimit: BATCH_BODY_BYTES_MAX,
    config: {
      access: access.publish,
      requestHeaders: ['Idempotency-Key', 'sagapost-correlation-id', 'traceparent'],
      refusals: [
        ...['idempotency_key_invalid', 'idempotency_key_busy'],
        ...['overloaded', 'too_much_at_once', 'partition_missing'],
      ] as const,
    },
    schema: {
      operationId: 'publishEvents',
      summary: 'Publish up to 1,000 events',
      description:
        'Returns one result per item, in order; an invalid item does not affect the others. With an `Idempotency-Key` header, ' +
        'items without a key of their own get `<header>[<index>]`, so that the same batch can be sent again.',
      tags: ['events'],
      body: newEventBatch,
      response: { 202: batchReceipt },
    },
    validatorCompiler: () => () => true,
    serializerCompiler: () => JSON.stringify,
    async handler(request, reply) {
      const context = readEventContext(request.headers)
      const items = (await inTurns(readEventBatch(readText(bodyOf(request)), context))).map(admit)
      const outcomes = await store.storeBatch(items.filter((item): item is NewEvent => !('refusal' in item)))
      const failures = outcomes.filter((outcome) => 'error' in outcome)
      // When all failed for a temporary reason, nothing was stored, and the whole request can be repeated.
      const [first] = failures
      if (first && failures.length === items.length && explainError(first.error).status === UNAVAILABLE) {
        throw first.error
      }
      return reply.code(202).send({ results: resultsOf(items, outcomes, note) })
    },
  })
}

/** [E3] For operators who require every publish request to be repeatable. */
function refuseKeyless(event: ReadEvent): ReadEvent {
  if ('refusal' in event || event.idempotencyKey !== undefined) return event
  const detail = 'is missing; this server requires one for every event'
  return { refusal: { code: 'idempotency_key_required', field: 'idempotencyKey', detail } }
}

function bodyOf({ body }: { body: unknown }): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
}

function resultsOf(
  items: readonly ReadEvent[],
  outcomes: readonly (StoreOutcome | { error: unknown })[],
  note: NoteIngested,
) {
  let next = 0
  return items.map((item) => {
    const outcome = 'refusal' in item ? item : (outcomes[next++] as StoreOutcome | { error: unknown })
    if (!('error' in outcome)) note(item, outcome)
    if ('refusal' in outcome) {
      const { code, field, detail } = outcome.refusal
      return { error: { code, detail: detail.startsWith('the ') ? detail : `${field}: ${detail}` } }
    }
    if ('error' in outcome) {
      const { code, detail } = explainError(outcome.error)
      return { error: { code, detail } }
    }
    return receiptOf(outcome)
  })
}

function receiptOf({ id, type, createdAt, duplicate, webhookId }: Extract<StoreOutcome, { id: string }>) {
  return { id, type, createdAt: createdAt.toISOString(), duplicate, webhookId }
}

function refused({ code, field, detail }: EventRefusal): ProblemError {
  return refuseField(isHttpErrorCode(code) ? code : 'internal_error', field, detail)
}

export function addEventReadRoutes(api: Api, { pools }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/events',
    config: { access: access.read, refusals: queryRefusals },
    schema: {
      operationId: 'listEvents',
      summary: 'List events, newest first',
      tags: ['events'],
      querystring: eventFilter,
      response: { 200: pageOf(event) },
    },
    handler: async ({ query }) => present(await listEvents(pools.reads, withTimes(query))),
  })

  api.route({
    method: 'GET',
    url: '/v1/events/set-aside',
    config: { access: access.read, refusals: ['query_invalid'] },
    schema: {
      operationId: 'listSetAsideEvents',
      summary: 'List events that were set aside because the database refused to route them, newest first',
      description:
        'They do not block other events. Once the cause is fixed, `sagapost events requeue` routes them.',
      tags: ['events'],
      querystring: pageFilter,
      response: { 200: pageOf(setAsideEvent) },
    },
    handler: async ({ query }) => present(await listSetAsideEvents(pools.reads, query)),
  })

  api.route({
    method: 'GET',
    url: '/v1/events/:id',
    config: { access: access.read, refusals: ['event_not_found'] },
    schema: {
      operationId: 'getEvent',
      summary: 'Get an event with its payload and deliveries',
      description:
        'By id or webhookId. Returns 404 for the webhookId of another event that once had the same id.',
      tags: ['events'],
      params: eventIdParameter,
      response: { 200: eventWithPayload },
    },
    async handler({ params }, reply) {
      const found = required(await getEvent(pools.reads, params.id), 'event_not_found', 'event', params.id)
      const { payload, ...rest } = found
      return reply
        .type('application/json')
        .serializer(asItIs)
        .send(withJsonField(rest, 'payload', payload) as never)
    },
  })
}
