import type pg from 'pg'
import type { SigningSecret } from '../webhook/index.js'
import type { SecretBox } from './secret-box.js'

/** uniq_secret_current refuses it while another secret of the subscription has no end. */
const insertSealedSecret = `
  INSERT INTO sagapost.subscription_secrets (subscription_id, scheme, ciphertext)
  VALUES ($1, $2, $3)
  RETURNING id`

/**
 * Stores the secret as the subscription's current one, sealed to the subscription's id, which must exist by now.
 * Returns the secret's id.
 */
export async function insertSecret(
  client: pg.PoolClient,
  box: SecretBox,
  subscriptionId: string,
  { scheme, key }: SigningSecret,
): Promise<string> {
  const sealed = box.seal(key, { subscriptionId, scheme })
  const { rows } = await client.query<{ id: string }>(insertSealedSecret, [subscriptionId, scheme, sealed])
  return rows[0]?.id as string
}
