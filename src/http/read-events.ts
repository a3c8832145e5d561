import type { IncomingHttpHeaders } from 'node:http'
import type { EventRefusal, NewEvent } from '../model/index.js'
import { nameField, refuseField } from './problem.js'
import { readMembers } from './read-body.js'
import { PIECE_CHARACTERS, type Reading } from './read-in-turns.js'
import { type Member, type Span, scanArray, scanObject } from './scan-json.js'

const EVENTS_PER_BATCH_MAX = 1_000

const HEADER_KEY = /^[\x20-\x7e]{1,255}$/
/** W3C Trace Context. An invalid header is ignored and does not refuse the event. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{1,72})?$/

/** The event fields from the request's headers. */
export interface EventContext {
  idempotencyKey?: string
  correlationId?: string
  traceparent?: string
}

export function readEventContext(headers: IncomingHttpHeaders): EventContext {
  const { 'sagapost-correlation-id': correlationId, traceparent } = headers
  const idempotencyKey = readHeaderKey(headers)
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(typeof correlationId === 'string' ? { correlationId } : {}),
    ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? { traceparent } : {}),
  }
}

/** The Idempotency-Key header. ASCII only, as clients encode other characters differently. */
export function readHeaderKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && HEADER_KEY.test(key)) return key
  throw refuseField(
    'idempotency_key_invalid',
    'Idempotency-Key',
    'must be 1 to 255 printable ASCII characters',
  )
}

export type ReadEvent = NewEvent | { refusal: EventRefusal }

/** The event in the body of POST /v1/events. */
export function* readEvent(text: string, { idempotencyKey, ...context }: EventContext): Reading<ReadEvent> {
  const event = readEventOf(text, yield* readMembers(text), context)
  if ('refusal' in event || idempotencyKey === undefined) return event
  if (event.idempotencyKey !== undefined && event.idempotencyKey !== idempotencyKey) {
    return refusal('request_invalid', 'idempotencyKey', 'is not the same as the Idempotency-Key header')
  }
  return { ...event, idempotencyKey }
}

/**
 * The items of POST /v1/events/batch, each an event or its error. With an Idempotency-Key, items without their own key
 * get one derived from their index, so that the whole batch can be sent again.
 */
export function* readEventBatch(
  text: string,
  { idempotencyKey, ...context }: EventContext,
): Reading<ReadEvent[]> {
  const members = yield* readMembers(text)
  const unknown = members.find(({ name }) => name !== 'events')
  if (unknown) throw refuseField('request_invalid', unknown.name, 'is not a known field')
  const events = members[0]
  const items = events ? yield* scanArray(text, events, EVENTS_PER_BATCH_MAX + 1) : null
  if (items === null) throw refuseField('request_invalid', 'events', 'must be a list of events')
  if (items.length === 0 || items.length > EVENTS_PER_BATCH_MAX) {
    throw refuseField('request_invalid', 'events', `must have 1 to ${EVENTS_PER_BATCH_MAX} items`)
  }
  const read: ReadEvent[] = []
  let pauseAt = PIECE_CHARACTERS
  for (const [index, item] of items.entries()) {
    const event = yield* readEventAt(text, item, context)
    if ('refusal' in event || idempotencyKey === undefined) read.push(event)
    else read.push({ idempotencyKey: `${idempotencyKey}[${index}]`, ...event })
    if (item.end < pauseAt) continue
    yield
    pauseAt = item.end + PIECE_CHARACTERS
  }
  return read
}

function* readEventAt(
  text: string,
  at: Span,
  context: Omit<EventContext, 'idempotencyKey'>,
): Reading<ReadEvent> {
  const members = yield* scanObject(text, at)
  if (members === null) return refusal('request_invalid', 'event', 'must be a JSON object')
  return readEventOf(text, members, context)
}

function readEventOf(
  text: string,
  members: readonly Member[],
  context: Omit<EventContext, 'idempotencyKey'>,
): ReadEvent {
  const found: { type?: string; payload?: string; idempotencyKey?: string } = {}
  for (const { name, start, end } of members) {
    if (name !== 'type' && name !== 'payload' && name !== 'idempotencyKey') {
      return refusal('request_invalid', name, 'is not a known field')
    }
    if (found[name] !== undefined) return refusal('request_invalid', name, 'is there twice')
    const written = text.slice(start, end)
    if (name === 'payload') found.payload = written
    else if (written.startsWith('"')) found[name] = JSON.parse(written) as string
    else return refusal('request_invalid', name, 'must be a string')
  }
  const { type, payload, idempotencyKey } = found
  if (type === undefined) return refusal('request_invalid', 'type', 'is missing')
  if (payload === undefined) return refusal('request_invalid', 'payload', 'is missing')
  // A lone surrogate would be replaced on the way to the database, so that two keys could become equal.
  if (idempotencyKey !== undefined && /\p{Surrogate}/u.test(idempotencyKey)) {
    return refusal('idempotency_key_invalid', 'idempotencyKey', 'must be well-formed Unicode')
  }
  return { type, payload, ...(idempotencyKey === undefined ? {} : { idempotencyKey }), ...context }
}

function refusal(code: EventRefusal['code'], field: string, detail: string): { refusal: EventRefusal } {
  return { refusal: { code, field: nameField(field), detail } }
}
