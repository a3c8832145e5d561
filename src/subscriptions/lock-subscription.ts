import type pg from 'pg'
import { isRowId } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { selectSubscription } from './get-subscription.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'

/** By the primary key. NO KEY: the foreign key of a new secret, and a requeue's look at it, need not wait longer. */
const lockSubscriptionRow = `${selectSubscription} FOR NO KEY UPDATE`

/**
 * Reads the subscription and locks it until the transaction ends, so that decisions based on it still hold when they
 * are written. Null when it does not exist; throws `subscription_deleted`.
 */
export async function lockSubscription(client: pg.PoolClient, id: string): Promise<Subscription | null> {
  if (!isRowId(id)) return null
  const { rows } = await client.query<SubscriptionRow>(lockSubscriptionRow, [id])
  if (!rows[0]) return null
  if (rows[0].deleted_at !== null) throw subscriptionDeleted(id)
  return toSubscription(rows[0])
}

export function subscriptionDeleted(id: string): SagapostError {
  return new SagapostError('subscription_deleted', `Subscription ${id} was deleted and never changes again`)
}
