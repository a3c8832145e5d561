import type pg from 'pg'
import { prepared } from '../database/index.js'

export interface Switches {
  /** Subscriptions by what they are now, of those that were switched a short while ago. */
  on: readonly string[]
  off: ReadonlySet<string>
  deleted: ReadonlySet<string>
  /** Deliveries that were cancelled and are open. */
  cancelled: ReadonlySet<string>
}

// Both tables as a whole: they hold what is being done, and are empty most of the time.
const selectSwitches = prepared(`
  SELECT switch.subscription_id AS id,
         CASE WHEN active THEN 'on' WHEN deleted_at IS NULL THEN 'off' ELSE 'deleted' END AS state
  FROM sagapost.subscription_switches AS switch
  JOIN sagapost.subscriptions AS subscription ON subscription.id = ANY (ARRAY[switch.subscription_id])
  UNION ALL
  SELECT saga_id, 'cancelled' FROM sagapost.delivery_cancellations`)

export async function readSwitches(pool: pg.Pool): Promise<Switches> {
  const { rows } = await pool.query<{ id: string; state: keyof Switches }>(selectSwitches)
  const those = (wanted: keyof Switches) => rows.filter(({ state }) => state === wanted).map(({ id }) => id)
  return {
    on: those('on'),
    off: new Set(those('off')),
    deleted: new Set(those('deleted')),
    cancelled: new Set(those('cancelled')),
  }
}

/**
 * A job that was claimed before a switch and put aside after it, or a result that was applied at that moment, is found as
 * long as the switch is known: longer than any transaction of a part lasts.
 */
const KNOWN_FOR_MS = 120_000

// By subscription_switches_pkey; of a deleted one the orchestrator has ended what waited, by idx_saga_failing_subscription,
// and nothing is held of one that is on or deleted, by idx_job_status_lease: what another worker has in its hands may come back.
const forgetThose = `
  DELETE FROM sagapost.subscription_switches AS switch
  WHERE subscription_id = ANY ($1::bigint[]) AND switched_at < sagapost.now() - $2 * interval '1 millisecond'
    AND NOT EXISTS (
      SELECT FROM sagapost.subscriptions AS subscription
      JOIN sagapost.webhook_delivery_sagas AS saga
        ON saga.subscription_id = subscription.id AND saga.status = 'PendingRetry'
      WHERE subscription.id = switch.subscription_id AND subscription.deleted_at IS NOT NULL
        AND EXISTS (SELECT FROM sagapost.events AS event WHERE event.id = saga.event_id))
    AND NOT EXISTS (
      SELECT FROM sagapost.subscriptions AS subscription
      JOIN sagapost.webhook_delivery_jobs AS job
        ON job.status = 'Pending' AND job.lease_until = sagapost.held_until(switch.subscription_id)
      WHERE subscription.id = switch.subscription_id AND (subscription.active OR subscription.deleted_at IS NOT NULL))`

/** Nothing is left to do for these. */
export async function forgetSwitches(pool: pg.Pool, subscriptionIds: readonly string[]): Promise<void> {
  if (subscriptionIds.length > 0) await pool.query(forgetThose, [subscriptionIds, KNOWN_FOR_MS])
}
