import type pg from 'pg'
import { deactivateSubscription } from './deactivate-subscription.js'

// By idx_job_gone. A little overlap with the last look costs nothing: an inactive subscription is not found again.
const selectGone = `
  SELECT subscription_id, observed_at
  FROM sagapost.gone_subscriptions(sagapost.now() - $1 * interval '1 millisecond')`

/** Deactivates the subscriptions whose receiver answered 410 within that time; returns their ids. */
export async function deactivateGoneSubscriptions(pool: pg.Pool, withinMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ subscription_id: string; observed_at: Date }>(selectGone, [withinMs])
  const deactivated: string[] = []
  for (const { subscription_id: id, observed_at: observedAt } of rows) {
    if (await deactivateSubscription(pool, id, 'http_410', { observedAt })) deactivated.push(id)
  }
  return deactivated
}
