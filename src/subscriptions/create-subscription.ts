import type pg from 'pg'
import { inTransaction } from '../database/index.js'
import { generateSecret, type SigningSecret } from '../https/index.js'
import { explainRefusal } from './explain-refusal.js'
import { insertSecret } from './insert-secret.js'
import type { SecretBox } from './secret-box.js'
import { shownSecret } from './shown-secret.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'
import { type SubscriptionValues, validateScheme, validateSubscription } from './validate-subscription.js'

/** Inactive and unverified by the columns' defaults: the role may not insert either [U4, U6]. */
const insertSubscription = `
  INSERT INTO sagapost.subscriptions (event_type, callback_url, max_attempts, headers)
  VALUES ($1, $2, $3, $4)
  RETURNING id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
            deactivation_reason`

export interface NewSubscription extends SubscriptionValues {
  eventType: string
  callbackUrl: string
  /** How deliveries are signed; `v1` unless told otherwise. */
  scheme?: SigningSecret['scheme'] | undefined
}

export interface CreatedSubscription {
  subscription: Subscription
  /** What the receiver verifies with. Shown this once; only a ciphertext is kept. */
  secret: string
}

/** [U2] Stores the subscription and its first secret, both or neither. Nothing is sent. */
export async function createSubscription(
  pool: pg.Pool,
  input: NewSubscription,
  { box, allowedCidrs }: { box: SecretBox; allowedCidrs: readonly string[] },
): Promise<CreatedSubscription> {
  validateSubscription(
    { ...input, eventType: input.eventType ?? '', callbackUrl: input.callbackUrl ?? '' },
    allowedCidrs,
  )
  validateScheme(input.scheme)
  const secret = generateSecret(input.scheme)
  try {
    return await inTransaction(pool, async (client) => {
      const { rows } = await client.query<SubscriptionRow>(insertSubscription, [
        input.eventType,
        input.callbackUrl,
        input.maxAttempts ?? null,
        JSON.stringify(input.headers ?? {}),
      ])
      const subscription = toSubscription(rows[0] as SubscriptionRow)
      await insertSecret(client, box, subscription.id, secret)
      return { subscription, secret: shownSecret(secret) }
    })
  } catch (error) {
    throw explainRefusal(error)
  }
}
