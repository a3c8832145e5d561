import type pg from 'pg'
import { prepared } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import type { SigningSecret } from '../webhook/index.js'
import type { SecretBox } from './secret-box.js'

/** By idx_secret_subscription, one probe per subscription. The current secret first, then the one in overlap. */
export const selectSigningSecrets = prepared(`
  SELECT subscription_id, scheme, ciphertext
  FROM sagapost.subscription_secrets
  WHERE subscription_id = ANY ($1::bigint[]) AND (expires_at IS NULL OR expires_at > sagapost.now())
    AND ciphertext IS NOT NULL
  ORDER BY subscription_id, id DESC`)

interface SecretRow {
  subscription_id: string
  scheme: SigningSecret['scheme']
  ciphertext: Buffer
}

/** A secret that cannot be opened fails only the deliveries of its own subscription. */
export type SigningSecrets =
  | { readable: true; secrets: SigningSecret[] }
  | { readable: false; error: SagapostError }

/**
 * The secrets that sign deliveries to these subscriptions, by subscription id; one without a secret is absent. Expired
 * secrets are excluded, by the database's clock. Under job_worker or subscription_admin.
 */
export async function readSigningSecrets(
  pool: pg.Pool,
  box: SecretBox,
  subscriptionIds: readonly string[],
): Promise<Map<string, SigningSecrets>> {
  const { rows } = await pool.query<SecretRow>(selectSigningSecrets, [subscriptionIds])
  const found = new Map<string, SigningSecrets>()
  for (const row of rows) found.set(row.subscription_id, withSecret(found.get(row.subscription_id), row, box))
  return found
}

/** All or nothing: a delivery signed with only some of its secrets is refused by receivers that know the other. */
function withSecret(known: SigningSecrets | undefined, row: SecretRow, box: SecretBox): SigningSecrets {
  if (known?.readable === false) return known
  const { subscription_id: subscriptionId, scheme, ciphertext } = row
  try {
    const key = box.open(ciphertext, { subscriptionId, scheme })
    return { readable: true, secrets: [...(known?.secrets ?? []), { scheme, key }] }
  } catch (error) {
    if (!(error instanceof SagapostError)) throw error
    return { readable: false, error }
  }
}
