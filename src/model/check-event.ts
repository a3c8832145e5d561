import type { ErrorCode } from '../errors/index.js'
import { isEventType, isReservedType } from './event-type.js'

export interface NewEvent {
  type: string
  /** The JSON text as received; stored, signed and sent byte for byte. */
  payload: string
  idempotencyKey?: string
  correlationId?: string
  traceparent?: string
}

export interface EventLimits {
  payloadBytesMax: number
  payloadDepthMax: number
}

export const defaultEventLimits: EventLimits = { payloadBytesMax: 1024 * 1024, payloadDepthMax: 1000 }

const KEY_CHARACTERS_MAX = 255
const CORRELATION_ID = /^[\x21-\x7e]{1,255}$/
const TRACEPARENT = /^[\x21-\x7e]{1,128}$/

export interface EventRefusal {
  code: ErrorCode
  field: string
  detail: string
}

export interface EventCheck {
  limits?: EventLimits
  /** The caller has already parsed the payload as JSON, so only its limits are checked. */
  isJson?: boolean
}

/** Returns the first thing that is wrong with the event, or null. A refused event is not stored. */
export function refuseEvent(
  event: NewEvent,
  { limits = defaultEventLimits, isJson = false }: EventCheck = {},
): EventRefusal | null {
  if (!isEventType(event.type)) {
    return {
      code: 'event_type_invalid',
      field: 'type',
      detail: 'the type must be 1 to 100 characters of A–Z, a–z, 0–9, _, . and -',
    }
  }
  if (isReservedType(event.type)) {
    return {
      code: 'event_type_reserved',
      field: 'type',
      detail: "the type begins with saga. or sagapost., which are Sagapost's own",
    }
  }
  const { idempotencyKey: key, correlationId, traceparent } = event
  if (key !== undefined && (typeof key !== 'string' || key === '' || isTooLong(key) || key.includes('\0'))) {
    return {
      code: 'idempotency_key_invalid',
      field: 'idempotencyKey',
      detail: `the idempotency key must be 1 to ${KEY_CHARACTERS_MAX} characters`,
    }
  }
  if (correlationId !== undefined && !CORRELATION_ID.test(correlationId)) {
    return {
      code: 'event_invalid',
      field: 'correlationId',
      detail: 'the correlation id must be 1 to 255 printable ASCII characters without spaces',
    }
  }
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent)) {
    return {
      code: 'event_invalid',
      field: 'traceparent',
      detail: 'the traceparent must be 1 to 128 ASCII characters',
    }
  }
  return refuseSize(event.payload, limits) ?? (isJson ? null : refuseSyntax(event.payload))
}

/** Counts characters as PostgreSQL does: one outside the basic plane takes two positions in a string. */
function isTooLong(key: string): boolean {
  return key.length > KEY_CHARACTERS_MAX && [...key].length > KEY_CHARACTERS_MAX
}

function refuseSize(payload: string, limits: EventLimits): EventRefusal | null {
  const bytes = Buffer.byteLength(payload)
  if (bytes > limits.payloadBytesMax) {
    return {
      code: 'payload_too_large',
      field: 'payload',
      detail: `the payload has ${bytes} bytes; at most ${limits.payloadBytesMax} are taken`,
    }
  }
  // This many levels need at least as many brackets, and most payloads are shorter than that.
  if (payload.length > limits.payloadDepthMax && depthOf(payload) > limits.payloadDepthMax) {
    return {
      code: 'payload_invalid',
      field: 'payload',
      detail: `the payload is nested deeper than ${limits.payloadDepthMax} levels`,
    }
  }
  return null
}

function refuseSyntax(payload: string): EventRefusal | null {
  try {
    JSON.parse(payload)
    return null
  } catch {
    return { code: 'payload_invalid', field: 'payload', detail: 'the payload is not JSON (RFC 8259)' }
  }
}

const QUOTE = 0x22
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Counts nested brackets outside strings. For text that is not JSON the result is meaningless, and the parser refuses
 * the text.
 */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_OBJECT || code === OPEN_LIST) deepest = Math.max(deepest, ++depth)
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--
  }
  return deepest
}
