import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import type { SigningSecret } from '../webhook/index.js'
import { readSigningSecrets } from './read-signing-secrets.js'
import type { SecretBox } from './secret-box.js'

/** For a request made at once: throws when its secrets cannot be read. */
export async function requireSigningSecrets(
  pool: pg.Pool,
  box: SecretBox,
  subscriptionId: string,
): Promise<SigningSecret[]> {
  const found = (await readSigningSecrets(pool, box, [subscriptionId])).get(subscriptionId)
  if (!found) {
    throw new SagapostError(
      'subscription_secret_invalid',
      `Subscription ${subscriptionId} has no signing secret: rotate it to get one`,
    )
  }
  if (!found.readable) throw found.error
  return found.secrets
}
