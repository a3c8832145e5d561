import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { WebhookOutcome, WebhookSender } from '../webhook/index.js'
import { getSubscription } from './get-subscription.js'
import { subscriptionDeleted } from './lock-subscription.js'
import { requireSigningSecrets } from './require-signing-secrets.js'
import type { SecretBox } from './secret-box.js'

const REQUEST_ID_BYTES = 16

export interface TestRequestOptions {
  box: SecretBox
  sender: Pick<WebhookSender, 'send'>
}

/**
 * Sends a signed request at once, to a subscription in any state, and returns the response. Creates no event or
 * delivery, and writes nothing. Null when the subscription does not exist; throws `subscription_deleted`.
 */
export async function sendTestRequest(
  pool: pg.Pool,
  id: string,
  { box, sender }: TestRequestOptions,
): Promise<WebhookOutcome | null> {
  const subscription = await getSubscription(pool, id)
  if (subscription === null) return null
  if (subscription.deletedAt !== null) throw subscriptionDeleted(id)
  return sender.send({
    url: subscription.callbackUrl,
    webhookId: `test_${randomBytes(REQUEST_ID_BYTES).toString('hex')}`,
    body: Buffer.from(JSON.stringify({ type: 'sagapost.subscription.test', subscriptionId: id })),
    secrets: await requireSigningSecrets(pool, box, id),
    headers: subscription.headers,
  })
}
