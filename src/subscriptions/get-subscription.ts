import type pg from 'pg'
import { isRowId } from '../database/index.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'

/** By the primary key. */
export const selectSubscription = `
  SELECT id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
         deactivation_reason
  FROM sagapost.subscriptions
  WHERE id = $1`

/** One subscription, also when deleted; null when none has ever had this id. */
export async function getSubscription(pool: pg.Pool, id: string): Promise<Subscription | null> {
  if (!isRowId(id)) return null
  const { rows } = await pool.query<SubscriptionRow>(selectSubscription, [id])
  return rows[0] ? toSubscription(rows[0]) : null
}
