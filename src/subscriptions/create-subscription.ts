import type pg from 'pg'
import { inTransaction } from '../database/index.js'
import { generateSecret, type SigningSecret } from '../webhook/index.js'
import {
  claimRequestKey,
  type EarlierAnswer,
  type RequestIdentity,
  recordRequestAnswer,
  validateRequestKey,
} from './claim-request-key.js'
import { explainRefusal } from './explain-refusal.js'
import { selectSubscription } from './get-subscription.js'
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
  /** How deliveries are signed; default `v1`. */
  scheme?: SigningSecret['scheme'] | undefined
}

export interface CreatedSubscription {
  subscription: Subscription
  /** The secret or public key that the receiver verifies with. Shown only once; the database keeps a ciphertext. */
  secret: string
}

export interface CreateOptions {
  box: SecretBox
  allowedCidrs: readonly string[]
  /** [O8] The same key and input return the same answer and create nothing new. */
  idempotencyKey?: string | undefined
}

/** [U2] Stores the subscription and its first secret, both or neither. Nothing is sent. */
export async function createSubscription(
  pool: pg.Pool,
  input: NewSubscription,
  { box, allowedCidrs, idempotencyKey }: CreateOptions,
): Promise<CreatedSubscription> {
  validateSubscription(
    { ...input, eventType: input.eventType ?? '', callbackUrl: input.callbackUrl ?? '' },
    allowedCidrs,
  )
  validateScheme(input.scheme)
  validateRequestKey(idempotencyKey)
  const identity = { key: idempotencyKey, request: requestOf(input) }
  try {
    return await inTransaction(pool, async (client) => {
      const earlier = await claimRequestKey(client, box, identity)
      return earlier ? repeatAnswer(client, input, earlier) : create(client, input, box, identity)
    })
  } catch (error) {
    throw explainRefusal(error)
  }
}

async function create(
  client: pg.PoolClient,
  input: NewSubscription,
  box: SecretBox,
  identity: RequestIdentity,
): Promise<CreatedSubscription> {
  const { rows } = await client.query<SubscriptionRow>(insertSubscription, [
    input.eventType,
    input.callbackUrl,
    input.maxAttempts ?? null,
    JSON.stringify(input.headers ?? {}),
  ])
  // As given: jsonb reorders keys, and a repeated answer must be identical to the byte.
  const subscription = { ...toSubscription(rows[0] as SubscriptionRow), headers: input.headers ?? {} }
  const secret = generateSecret(input.scheme)
  const secretId = await insertSecret(client, box, subscription.id, secret)
  await recordRequestAnswer(client, identity, { secretId, previousExpiresAt: null })
  return { subscription, secret: shownSecret(secret) }
}

/** The subscription as it was when created, whatever has changed since: that was the first answer. */
async function repeatAnswer(
  client: pg.PoolClient,
  input: NewSubscription,
  { subscriptionId, secret }: EarlierAnswer,
): Promise<CreatedSubscription> {
  const { rows } = await client.query<SubscriptionRow>(selectSubscription, [subscriptionId])
  const { id, createdAt } = toSubscription(rows[0] as SubscriptionRow)
  const subscription: Subscription = {
    id,
    eventType: input.eventType,
    callbackUrl: input.callbackUrl,
    active: false,
    verified: false,
    maxAttempts: input.maxAttempts ?? null,
    headers: input.headers ?? {},
    createdAt,
    updatedAt: createdAt,
    deletedAt: null,
    deactivationReason: null,
  }
  return { subscription, secret }
}

/** The order of fields and headers does not make a request different. */
function requestOf({ eventType, callbackUrl, maxAttempts, headers, scheme }: NewSubscription): unknown {
  return [
    'create_subscription',
    eventType,
    callbackUrl,
    maxAttempts ?? null,
    Object.entries(headers ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
    scheme ?? 'v1',
  ]
}
