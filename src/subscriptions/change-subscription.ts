import type pg from 'pg'
import { inTransaction } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { explainRefusal } from './explain-refusal.js'
import { lockSubscription } from './lock-subscription.js'
import { openRoutes } from './open-routes.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'
import { type SubscriptionValues, validateSubscription } from './validate-subscription.js'

/**
 * By the primary key; a null leaves the column as it is ($5 tells a limit of null from an absent one). Another
 * URL voids the verification by a trigger [U4, U6], and with it the reason why the old one was switched off.
 */
const updateSubscription = `
  UPDATE sagapost.subscriptions
  SET event_type = coalesce($2, event_type),
      callback_url = coalesce($3, callback_url),
      active = coalesce($4, active),
      max_attempts = CASE WHEN $5 THEN $6 ELSE max_attempts END,
      headers = coalesce($7, headers),
      deactivation_reason = CASE WHEN $4 OR $3 <> callback_url THEN NULL ELSE deactivation_reason END
  WHERE id = $1
  RETURNING id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
            deactivation_reason`

export interface SubscriptionChange extends SubscriptionValues {
  active?: boolean | undefined
}

/**
 * Changes the given fields and leaves the rest; null when the subscription does not exist. Starts no delivery [U2].
 * Throws `subscription_deleted`, and `subscription_not_verified` for `active: true` when the resulting URL is not
 * verified [U6].
 */
export async function changeSubscription(
  pool: pg.Pool,
  id: string,
  change: SubscriptionChange,
  { allowedCidrs }: { allowedCidrs: readonly string[] },
): Promise<Subscription | null> {
  validateChange(change, allowedCidrs)
  try {
    const changed = await inTransaction(pool, async (client) => {
      const current = await lockSubscription(client, id)
      if (current === null) return null
      requireVerified(current, change)
      // Nothing to change: skip the write, so that the router's cached lists stay valid [R5].
      if (Object.values(change).every((value) => value === undefined)) return current
      const { rows } = await client.query<SubscriptionRow>(updateSubscription, [
        id,
        change.eventType ?? null,
        change.callbackUrl ?? null,
        change.active ?? null,
        change.maxAttempts !== undefined,
        change.maxAttempts ?? null,
        change.headers === undefined ? null : JSON.stringify(change.headers),
      ])
      return toSubscription(rows[0] as SubscriptionRow)
    })
    if (changed?.active && (change.active || change.eventType !== undefined)) await openRoutes(pool)
    return changed
  } catch (error) {
    throw explainRefusal(error)
  }
}

function validateChange(change: SubscriptionChange, allowedCidrs: readonly string[]): void {
  validateSubscription(change, allowedCidrs)
  if (change.active !== undefined && typeof change.active !== 'boolean') {
    throw new SagapostError('subscription_invalid', 'active must be true or false')
  }
}

/** The trigger would silently reset `active` when the URL changes in the same update; this throws instead. */
function requireVerified(current: Subscription, { active, callbackUrl }: SubscriptionChange): void {
  if (active !== true) return
  if (callbackUrl !== undefined && callbackUrl !== current.callbackUrl) {
    throw new SagapostError(
      'subscription_not_verified',
      `Subscription ${current.id} cannot be activated along with a new callbackUrl: verify it first`,
    )
  }
  if (!current.verified) {
    throw new SagapostError(
      'subscription_not_verified',
      `Subscription ${current.id} cannot be activated before its callbackUrl is verified`,
    )
  }
}
