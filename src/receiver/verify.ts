import { hasMatchingSignature } from './check-signature.js'
import { parseSecrets, type Secrets, type VerifyingKey } from './parse-secrets.js'
import { readEvent, type WebhookEvent } from './read-event.js'
import { readHeader, type WebhookHeaders } from './read-header.js'
import { WebhookVerificationError } from './verification-error.js'

export interface VerifyOptions {
  /** The maximum difference between webhook-timestamp and the clock; default five minutes. */
  toleranceMs?: number | undefined
  /** Milliseconds since 1970; default `Date.now`. */
  now?: (() => number) | undefined
}

const TOLERANCE_MS = 5 * 60_000

/** Twelve digits reach beyond the year 30,000 and are exact as numbers. */
const TIMESTAMP = /^\d{1,12}$/

/**
 * Returns the event of a request signed with one of the secrets, or throws a WebhookVerificationError. `body` must be the
 * received bytes: parsed and serialized again, they no longer match the signature.
 */
export function verify(
  headers: WebhookHeaders,
  body: Uint8Array | string,
  secret: Secrets,
  options?: VerifyOptions,
): WebhookEvent {
  return verifyWithKeys(headers, body, parseSecrets(secret), options)
}

/** The same with parsed keys: parsing an ed25519 key costs as much as a verification. */
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
  // The signed text is id.timestamp.body. With full stops in the id, part of a body could pose as id and timestamp.
  if (/[.\s]/.test(id))
    throw new WebhookVerificationError('bad_id', 'webhook-id contains a full stop or a space')
  if (!TIMESTAMP.test(timestampS)) {
    throw new WebhookVerificationError('bad_timestamp', 'webhook-timestamp is not in seconds since 1970')
  }
  const timestamp = new Date(Number(timestampS) * 1000)
  // Negated, so that a NaN tolerance or clock is refused.
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
  // Not instanceof: under Jest, Buffers come from another realm.
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // Possible in JavaScript: usually a parsed JSON body.
  throw new WebhookVerificationError(
    'body_consumed',
    'The body must be the received bytes or text, not parsed JSON',
  )
}
