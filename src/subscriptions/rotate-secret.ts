import type pg from 'pg'
import { startSecretRotation } from '../built-in-sagas/index.js'
import { inTransaction } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { generateSecret, type SigningSecret } from '../webhook/index.js'
import { claimRequestKey, recordRequestAnswer, validateRequestKey } from './claim-request-key.js'
import { insertSecret } from './insert-secret.js'
import { lockSubscription } from './lock-subscription.js'
import type { SecretBox } from './secret-box.js'
import { shownSecret } from './shown-secret.js'
import { validateScheme } from './validate-subscription.js'

const OVERLAP_DEFAULT_MS = 24 * 60 * 60 * 1000
const OVERLAP_MAX_MS = 30 * OVERLAP_DEFAULT_MS

/**
 * By idx_secret_subscription. The current secret gets its end; one that is still in overlap from an earlier
 * rotation ends now, so that at most two sign at once. What ends now is removed now. Returns the one that was current.
 */
const endSecrets = `
  UPDATE sagapost.subscription_secrets AS secret
  SET expires_at = sagapost.now()
      + CASE WHEN secret.expires_at IS NULL THEN $2 * interval '1 millisecond' ELSE interval '0' END,
      ciphertext = CASE WHEN secret.expires_at IS NULL AND $2 > 0 THEN secret.ciphertext END
  FROM sagapost.subscription_secrets AS before
  WHERE secret.subscription_id = $1 AND before.id = secret.id
    AND (secret.expires_at IS NULL OR secret.expires_at > sagapost.now())
  RETURNING secret.scheme, secret.expires_at, before.expires_at IS NULL AS was_current`

export interface RotateOptions {
  box: SecretBox
  /** How long requests are also signed with the previous secret; 0 ends it at once, for a leaked secret. */
  overlapMs?: number | undefined
  /** Default: the present scheme. */
  scheme?: SigningSecret['scheme'] | undefined
  /** [O8] The same key and request return the same secret without a second rotation. */
  idempotencyKey?: string | undefined
}

export interface RotatedSecret {
  /** The secret or public key that the receiver verifies with from now on. Shown only once. */
  secret: string
  previousExpiresAt: Date | null
}

/**
 * Creates a new current secret; null when the subscription does not exist. A lock on the subscription serialises
 * concurrent rotations, with uniq_secret_current as the second line. Throws `subscription_deleted`.
 */
export async function rotateSecret(
  pool: pg.Pool,
  id: string,
  { box, overlapMs = OVERLAP_DEFAULT_MS, scheme, idempotencyKey }: RotateOptions,
): Promise<RotatedSecret | null> {
  if (!Number.isInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MAX_MS) {
    throw new SagapostError(
      'subscription_invalid',
      `The overlap of two secrets must be from 0 to ${OVERLAP_MAX_MS} ms (30 days)`,
    )
  }
  validateScheme(scheme)
  validateRequestKey(idempotencyKey)
  const identity = { key: idempotencyKey, request: ['rotate_secret', id, overlapMs, scheme ?? null] }
  return inTransaction(pool, async (client) => {
    // The subscription is checked before the key is claimed, so that a missing one leaves no key behind.
    if (!(await lockSubscription(client, id))) return null
    const earlier = await claimRequestKey(client, box, identity)
    if (earlier) return { secret: earlier.secret, previousExpiresAt: earlier.previousExpiresAt }
    const { rows } = await client.query<{
      scheme: SigningSecret['scheme']
      expires_at: Date
      was_current: boolean
    }>(endSecrets, [id, overlapMs])
    const previous = rows.find(({ was_current }) => was_current)
    const secret = generateSecret(scheme ?? previous?.scheme)
    const previousExpiresAt = previous?.expires_at ?? null
    const secretId = await insertSecret(client, box, id, secret)
    if (previous && overlapMs > 0) await startSecretRotation(client, id)
    await recordRequestAnswer(client, identity, { secretId, previousExpiresAt })
    return { secret: shownSecret(secret), previousExpiresAt }
  })
}
