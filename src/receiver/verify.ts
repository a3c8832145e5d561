import { hasMatchingSignature } from './check-signature.js'
import { parseSecrets, type Secrets, type VerifyingKey } from './parse-secrets.js'
import { readEvent, type WebhookEvent } from './read-event.js'
import { readHeader, type WebhookHeaders } from './read-header.js'
import { WebhookVerificationError } from './verification-error.js'

export interface VerifyOptions {
  /** How far webhook-timestamp may be from the clock, either way; five minutes unless told otherwise. */
  toleranceMs?: number | undefined
  /** Milliseconds since 1970; `Date.now` unless told otherwise. */
  now?: (() => number) | undefined
}

const TOLERANCE_MS = 5 * 60_000

/** Twelve digits reach beyond the year 30,000, and every one of them is an exact number. */
const TIMESTAMP = /^\d{1,12}$/

/**
 * The event of a request that was signed with one of the secrets; otherwise throws a WebhookVerificationError.
 * `body` is the bytes as they came: parsed and written again they are others, and no signature fits them.
 */
export function verify(
  headers: WebhookHeaders,
  body: Uint8Array | string,
  secret: Secrets,
  options?: VerifyOptions,
): WebhookEvent {
  return verifyWithKeys(headers, body, parseSecrets(secret), options)
}

/** The same with keys that were read before: of an ed25519 key that costs as much as a verification. */
export function verifyWithKeys(
  headers: WebhookHeaders,
  body: Uint8Array | string,
  keys: readonly VerifyingKey[],
  { toleranceMs = TOLERANCE_MS, now = Date.now }: VerifyOptions = {},
): WebhookEvent {
  const id = readHeader(headers, 'webhook-id')
  const timestampS = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature')
  if (id === undefined || timestampS === undefined || signatures === undefined) {
    throw new WebhookVerificationError(
      'missing_headers',
      'webhook-id, webhook-timestamp and webhook-signature must each be present exactly once',
    )
  }
  // Signed is id.timestamp.body. With full stops in the id, parts of a body could pass for id and timestamp.
  if (/[.\s]/.test(id))
    throw new WebhookVerificationError('bad_id', 'webhook-id contains a full stop or a space')
  if (!TIMESTAMP.test(timestampS)) {
    throw new WebhookVerificationError('bad_timestamp', 'webhook-timestamp is not in seconds since 1970')
  }
  const timestamp = new Date(Number(timestampS) * 1000)
  // Written so that a tolerance or a clock that is not a number refuses.
  if (!(Math.abs(now() - timestamp.getTime()) <= toleranceMs)) {
    throw new WebhookVerificationError(
      'timestamp_out_of_range',
      'webhook-timestamp is too far from the clock of the receiver',
    )
  }
  const bytes = toBuffer(body)
  if (!hasMatchingSignature({ id, timestampS, signatures, body: bytes }, keys)) {
    throw new WebhookVerificationError(
      'no_matching_signature',
      'No signature matches the request with any of the secrets',
    )
  }
  return readEvent(headers, { id, timestamp, body: bytes })
}

function toBuffer(body: Uint8Array | string): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  // Not instanceof: under Jest a Buffer is of another realm.
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // From JavaScript: most often what a JSON parser made of it.
  throw new WebhookVerificationError(
    'body_consumed',
    'The body must be the received bytes or text, not parsed JSON',
  )
}
