import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { isRowId } from '../database/index.js'
import type { WebhookOutcome, WebhookSender } from '../webhook/index.js'
import { answersChallenge } from './answers-challenge.js'
import { getSubscription } from './get-subscription.js'
import { subscriptionDeleted } from './lock-subscription.js'
import { openRoutes } from './open-routes.js'
import { requireSigningSecrets } from './require-signing-secrets.js'
import type { SecretBox } from './secret-box.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'

const CHALLENGE_BYTES = 32
const REQUEST_ID_BYTES = 16

/**
 * By the primary key. Returns the URL that the challenge is for: whatever changes it afterwards clears the
 * challenge too. A challenge that failed is left to be overwritten, since every write here sends the router
 * back to the table [R5], and only its answer can use it.
 */
const storeChallenge = `
  UPDATE sagapost.subscriptions
  SET verification_challenge = $2
  WHERE id = $1 AND deleted_at IS NULL
  RETURNING id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
            deactivation_reason`

/** By the primary key; the only way to `verified` [U4]. It also activates. */
const confirmChallenge = 'SELECT sagapost.confirm_verification($1, $2) AS confirmed'

type VerificationFailure =
  /** Not delivered, or answered with a status other than 2xx: `response` has the error code. */
  | 'request_failed'
  /** A 2xx response without the challenge. */
  | 'challenge_missing'
  /** Passed, but the subscription's URL has changed since. */
  | 'callback_url_changed'
  | 'subscription_deleted'
  /** A newer verification has replaced this one and has not passed so far. */
  | 'superseded'

export type VerificationOutcome =
  | { verified: true; subscription: Subscription; response: WebhookOutcome }
  | { verified: false; reason: VerificationFailure; detail: string; response: WebhookOutcome }

export interface VerifyOptions {
  box: SecretBox
  sender: Pick<WebhookSender, 'send'>
}

/**
 * [U4] Asks the endpoint's owner to confirm: a signed POST with a challenge, which a 2xx response must repeat. No
 * transaction is open meanwhile. Null when the subscription does not exist; throws `subscription_deleted`.
 */
export async function verifySubscription(
  pool: pg.Pool,
  id: string,
  { box, sender }: VerifyOptions,
): Promise<VerificationOutcome | null> {
  const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url')
  const challenged = await challengeSubscription(pool, id, challenge)
  if (challenged === null) return null

  const response = await sender.send({
    url: challenged.callbackUrl,
    webhookId: `ver_${randomBytes(REQUEST_ID_BYTES).toString('hex')}`,
    body: Buffer.from(JSON.stringify({ type: 'sagapost.subscription.verification', challenge })),
    secrets: await requireSigningSecrets(pool, box, id),
    headers: challenged.headers,
  })
  if (!response.delivered) {
    return failure('request_failed', `The callback did not answer with 2xx: ${response.errorCode}`, response)
  }
  if (!answersChallenge(response.responseExcerpt, challenge)) {
    return failure('challenge_missing', 'The answer does not contain the challenge', response)
  }

  const { rows } = await pool.query<{ confirmed: boolean }>(confirmChallenge, [id, challenge])
  await openRoutes(pool)
  return judge(rows[0]?.confirmed === true, challenged, await getSubscription(pool, id), response)
}

async function challengeSubscription(
  pool: pg.Pool,
  id: string,
  challenge: string,
): Promise<Subscription | null> {
  if (!isRowId(id)) return null
  const { rows } = await pool.query<SubscriptionRow>(storeChallenge, [id, challenge])
  if (rows[0]) return toSubscription(rows[0])
  if ((await getSubscription(pool, id)) === null) return null
  throw subscriptionDeleted(id)
}

/** The challenge was returned. The database decides whether it still counted; if not, the row shows why. */
function judge(
  confirmed: boolean,
  challenged: Subscription,
  now: Subscription | null,
  response: WebhookOutcome,
): VerificationOutcome {
  if (now === null || now.deletedAt !== null) {
    return failure('subscription_deleted', 'The subscription was deleted meanwhile', response)
  }
  if (now.callbackUrl !== challenged.callbackUrl) {
    return failure(
      'callback_url_changed',
      'The callbackUrl was changed meanwhile: verify the new one',
      response,
    )
  }
  // Not confirmed, yet verified for the same URL: another verification has passed, so this one passed as well.
  if (confirmed || (now.verified && now.active)) return { verified: true, subscription: now, response }
  return failure(
    'superseded',
    'Another verification took its place meanwhile: verify again if that one fails',
    response,
  )
}

function failure(reason: VerificationFailure, detail: string, response: WebhookOutcome): VerificationOutcome {
  return { verified: false, reason, detail, response }
}
