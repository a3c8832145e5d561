import { readHeader, type WebhookHeaders } from './read-header.js'
import { WebhookVerificationError } from './verification-error.js'

/** A verified request. `id`, `timestamp` and the body are signed; `type`, `attempt` and `correlationId` are not. */
export interface WebhookEvent {
  /** Verifications and tests are signed but are not events; answer a verification with its challenge. */
  kind: 'event' | 'verification' | 'test'
  /** `webhook-id`: the same for every attempt. Delivery is at least once, so ignore ids already handled. */
  id: string
  /** `sagapost-event-type`, or for a verification or test, the `type` in its body. */
  type: string | undefined
  /** `sagapost-attempt`: 1 for the first. */
  attempt: number | undefined
  /** When this attempt was signed. */
  timestamp: Date
  /** `sagapost-correlation-id`. */
  correlationId: string | undefined
  /** The body as JSON. */
  payload: unknown
  /** The body as received. */
  body: Buffer
  /** Only for a verification: respond with 200 and `{"challenge": …}`. */
  challenge: string | undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readEvent(
  headers: WebhookHeaders,
  signed: { id: string; timestamp: Date; body: Buffer },
): WebhookEvent {
  const payload = parseJson(signed.body)
  const eventType = readHeader(headers, 'sagapost-event-type')
  const attempt = Number(readHeader(headers, 'sagapost-attempt'))
  return {
    ...signed,
    // Events carry their type in the headers, so that no payload can pose as a verification or test.
    ...(eventType === undefined ? readOwnRequest(payload) : { ...anEvent, type: eventType }),
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : undefined,
    correlationId: readHeader(headers, 'sagapost-correlation-id'),
    payload,
  }
}

const anEvent = { kind: 'event', challenge: undefined } as const

function readOwnRequest(payload: unknown): Pick<WebhookEvent, 'kind' | 'type' | 'challenge'> {
  const { type, challenge } = (payload ?? {}) as { type?: unknown; challenge?: unknown }
  if (typeof type !== 'string') return { ...anEvent, type: undefined }
  if (type === 'sagapost.subscription.test') return { kind: 'test', type, challenge: undefined }
  if (type === 'sagapost.subscription.verification' && typeof challenge === 'string') {
    return { kind: 'verification', type, challenge }
  }
  return { ...anEvent, type }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw new WebhookVerificationError('bad_payload', 'The body is signed, but it is not JSON')
  }
}
