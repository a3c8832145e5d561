import { createHash } from 'node:crypto'
import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import type { SigningSecret } from '../webhook/index.js'
import type { SecretBox } from './secret-box.js'
import { shownSecret } from './shown-secret.js'

const KEY_CHARACTERS_MAX = 255

/** By request_keys_pkey. Waits for a transaction that has claimed the key and is not done. */
const insertKey = `
  INSERT INTO sagapost.request_keys (key, fingerprint) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`

/** In a statement of its own, which sees the row that we waited for. Both by their primary keys. */
const selectAnswer = `
  SELECT request.fingerprint, request.previous_expires_at, secret.subscription_id, secret.scheme, secret.ciphertext
  FROM sagapost.request_keys AS request
  JOIN sagapost.subscription_secrets AS secret ON secret.id = request.secret_id
  WHERE request.key = $1`

const recordAnswer = `
  UPDATE sagapost.request_keys SET secret_id = $2, previous_expires_at = $3 WHERE key = $1`

export interface RequestIdentity {
  /** The caller's Idempotency-Key; without one, every request is new. */
  key: string | undefined
  /** The operation and all of its input: two requests are the same when these are equal. */
  request: unknown
}

/** The answer to the first request with the key. */
export interface EarlierAnswer {
  subscriptionId: string
  secret: string
  previousExpiresAt: Date | null
}

interface AnswerRow {
  fingerprint: Buffer
  previous_expires_at: Date | null
  subscription_id: string
  scheme: SigningSecret['scheme']
  /** Null when the secret has ended and was removed. */
  ciphertext: Buffer | null
}

/**
 * [O8] Claims the key for the work of this transaction; if the same request used it before, returns that request's
 * answer, and nothing is left to do. Throws `idempotency_conflict` when another request used it, and
 * `subscription_secret_removed` when the answer no longer exists.
 */
export async function claimRequestKey(
  client: pg.PoolClient,
  box: SecretBox,
  { key, request }: RequestIdentity,
): Promise<EarlierAnswer | null> {
  if (key === undefined) return null
  const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest()
  const { rowCount } = await client.query(insertKey, [key, fingerprint])
  if (rowCount === 1) return null
  const { rows } = await client.query<AnswerRow>(selectAnswer, [key])
  const earlier = rows[0]
  if (!earlier?.fingerprint.equals(fingerprint)) {
    throw new SagapostError(
      'idempotency_conflict',
      `The Idempotency-Key "${key}" was used for another request`,
    )
  }
  const { subscription_id: subscriptionId, scheme, ciphertext } = earlier
  if (ciphertext === null) {
    throw new SagapostError(
      'subscription_secret_removed',
      `The secret that the Idempotency-Key "${key}" was answered with has ended, and was removed`,
    )
  }
  const opened = { scheme, key: box.open(ciphertext, { subscriptionId, scheme }) }
  return { subscriptionId, secret: shownSecret(opened), previousExpiresAt: earlier.previous_expires_at }
}

/** Stores the request's answer with the claimed key. */
export async function recordRequestAnswer(
  client: pg.PoolClient,
  { key }: RequestIdentity,
  answer: { secretId: string; previousExpiresAt: Date | null },
): Promise<void> {
  if (key === undefined) return
  await client.query(recordAnswer, [key, answer.secretId, answer.previousExpiresAt])
}

/** A lone surrogate would reach the database as another character, which could make two keys equal. */
export function validateRequestKey(key: string | undefined): void {
  if (key === undefined) return
  if (key === '' || [...key].length > KEY_CHARACTERS_MAX || /[\0\p{Surrogate}]/u.test(key)) {
    throw new SagapostError(
      'idempotency_key_invalid',
      `The idempotency key must be 1 to ${KEY_CHARACTERS_MAX} characters`,
    )
  }
}
