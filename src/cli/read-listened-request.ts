import type { IncomingHttpHeaders } from 'node:http'
import { verify, WebhookVerificationError } from '../receiver/index.js'

/** A POST as the development receiver saw it. Absent values are null, as in the printed JSON. */
export interface ListenedRequest {
  at: Date
  path: string
  kind: 'event' | 'verification' | 'test'
  id: string | null
  type: string | null
  attempt: number | null
  correlationId: string | null
  /** Null when no secret is configured. */
  verified: boolean | null
  /** Why verification failed: an error code of the receiver kit. */
  refusal: string | null
  challenge: string | null
  body: Buffer
}

export function readListenedRequest(
  incoming: { url?: string | undefined; headers: IncomingHttpHeaders },
  body: Buffer,
  secrets: readonly string[],
): ListenedRequest {
  const seen = readUnverified(incoming, body)
  if (secrets.length === 0) return seen
  try {
    verify(incoming.headers, body, secrets)
    return { ...seen, verified: true }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    return { ...seen, verified: false, refusal: error.code }
  }
}

/** Unverified input: for display only. */
function readUnverified(
  { url = '/', headers }: { url?: string | undefined; headers: IncomingHttpHeaders },
  body: Buffer,
): ListenedRequest {
  const header = (name: string) => headers[name]?.toString() ?? null
  const eventType = header('sagapost-event-type')
  const own = eventType === null ? readOwnRequest(body) : {}
  return {
    at: new Date(),
    path: url,
    kind: own.challenge !== undefined ? 'verification' : own.type === TEST ? 'test' : 'event',
    id: header('webhook-id'),
    type: eventType ?? own.type ?? null,
    attempt: Number(header('sagapost-attempt')) || null,
    correlationId: header('sagapost-correlation-id'),
    verified: null,
    refusal: null,
    challenge: own.challenge ?? null,
    body,
  }
}

const VERIFICATION = 'sagapost.subscription.verification'
const TEST = 'sagapost.subscription.test'

/** Events carry their type in the headers; a request without it is a verification or test, or not from Sagapost. */
function readOwnRequest(body: Buffer): { type?: string; challenge?: string } {
  try {
    const { type, challenge } = JSON.parse(body.toString()) as { type?: unknown; challenge?: unknown }
    if (type === VERIFICATION && typeof challenge === 'string') return { type, challenge }
    return typeof type === 'string' ? { type } : {}
  } catch {
    return {}
  }
}
