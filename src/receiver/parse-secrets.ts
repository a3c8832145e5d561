import { createPublicKey, type KeyObject } from 'node:crypto'
import { WebhookVerificationError } from './verification-error.js'

/** The key of one secret: the shared key of v1, or the public key of v1a. */
export type VerifyingKey = { scheme: 'v1'; key: Buffer } | { scheme: 'v1a'; key: KeyObject }

/** `whsec_…` or `whpk_…` as shown by Sagapost; several during a rotation. */
export type Secrets = string | readonly string[]

const HMAC_PREFIX = 'whsec_'
const PUBLIC_KEY_PREFIX = 'whpk_'
const PRIVATE_KEY_PREFIX = 'whsk_'

// Standard Webhooks requires 24 to 64 bytes.
const HMAC_KEY_BYTES_MIN = 24
const HMAC_KEY_BYTES_MAX = 64
const ED25519_KEY_BYTES = 32

/** Throws `bad_secret` without quoting the text, which may contain most of a secret. */
export function parseSecrets(secrets: Secrets): VerifyingKey[] {
  return (typeof secrets === 'string' || !Array.isArray(secrets) ? [secrets as string] : secrets).map(
    parseSecret,
  )
}

function parseSecret(secret: string): VerifyingKey {
  // Possible in JavaScript, or when an environment variable is missing.
  if (typeof secret !== 'string' || secret.trim() === '') throw badSecret('The secret is missing')
  const text = secret.trim()
  if (text.startsWith(PRIVATE_KEY_PREFIX)) {
    throw badSecret('A whsk_ key is for signing; verify with its public key, whpk_…')
  }
  if (text.startsWith(HMAC_PREFIX)) {
    const key = decodeBase64(text.slice(HMAC_PREFIX.length))
    if (key.length < HMAC_KEY_BYTES_MIN || key.length > HMAC_KEY_BYTES_MAX) {
      throw badSecret(`A whsec_ secret has ${HMAC_KEY_BYTES_MIN} to ${HMAC_KEY_BYTES_MAX} bytes`)
    }
    return { scheme: 'v1', key }
  }
  if (text.startsWith(PUBLIC_KEY_PREFIX)) {
    const raw = decodeBase64(text.slice(PUBLIC_KEY_PREFIX.length))
    if (raw.length !== ED25519_KEY_BYTES) throw badSecret(`A whpk_ key has ${ED25519_KEY_BYTES} bytes`)
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }
    return { scheme: 'v1a', key: createPublicKey({ key: jwk, format: 'jwk' }) }
  }
  throw badSecret('A secret begins with whsec_, or with whpk_ for scheme v1a')
}

function decodeBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  // Buffer skips invalid base64; a truncated secret must be refused, not become another secret.
  if (bytes.toString('base64') !== text)
    throw badSecret('The secret is not valid base64; check that it was copied in full')
  return bytes
}

function badSecret(message: string): WebhookVerificationError {
  return new WebhookVerificationError('bad_secret', message)
}
