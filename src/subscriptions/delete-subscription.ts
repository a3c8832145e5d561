import type pg from 'pg'
import { isRowId } from '../database/index.js'
import { getSubscription } from './get-subscription.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'

/**
 * By the primary key; one that is deleted already is not touched. The challenge goes, and a verification that is under way
 * ends in vain. A trigger notes it (migrations/0009): workers and the orchestrator end what is open.
 */
const markDeleted = `
  UPDATE sagapost.subscriptions
  SET deleted_at = sagapost.now(), active = false, verification_challenge = NULL
  WHERE id = $1 AND deleted_at IS NULL
  RETURNING id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
            deactivation_reason`

/**
 * Permanent and repeatable: a repeated call returns the result of the first. Null when the subscription does not exist.
 */
export async function deleteSubscription(pool: pg.Pool, id: string): Promise<Subscription | null> {
  if (!isRowId(id)) return null
  const { rows } = await pool.query<SubscriptionRow>(markDeleted, [id])
  return rows[0] ? toSubscription(rows[0]) : getSubscription(pool, id)
}
