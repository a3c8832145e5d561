import type pg from 'pg'
import { inRange, newestRanges, prepared, type WorkWindow } from '../../database/index.js'

export interface SwitchStates {
  /** Recently switched subscriptions, by their present state. */
  on: readonly string[]
  off: ReadonlySet<string>
  deleted: ReadonlySet<string>
  /** Cancelled deliveries that are still open. */
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

export async function readSwitches(pool: pg.Pool): Promise<SwitchStates> {
  const { rows } = await pool.query<{ id: string; state: keyof SwitchStates }>(selectSwitches)
  const those = (wanted: keyof SwitchStates) =>
    rows.filter(({ state }) => state === wanted).map(({ id }) => id)
  return {
    on: those('on'),
    off: new Set(those('off')),
    deleted: new Set(those('deleted')),
    cancelled: new Set(those('cancelled')),
  }
}

/**
 * How long a switch stays known. It exceeds the longest transaction of any part, so that a job claimed before the
 * switch and put aside after it, or a result applied at that moment, is still found.
 */
const KNOWN_FOR_MS = 120_000

// Of a deleted one the orchestrator has yet to end what waits, by idx_saga_failing_subscription; of one that is on or deleted
// something is held, by idx_job_status_lease: what another worker has in its hands may come back.
const selectUnfinished = `
  SELECT subscription.id FROM sagapost.subscriptions AS subscription
  WHERE subscription.id = ANY ($3::bigint[]) AND (
    (subscription.deleted_at IS NOT NULL AND EXISTS (
      SELECT FROM sagapost.webhook_delivery_sagas AS saga
      WHERE saga.subscription_id = subscription.id AND saga.status = 'PendingRetry'
        AND saga.event_id >= $1 AND saga.event_id < $2
        AND EXISTS (
          SELECT FROM sagapost.events AS event
          WHERE event.id = saga.event_id AND event.id >= $1 AND event.id < $2)))
    OR ((subscription.active OR subscription.deleted_at IS NOT NULL) AND EXISTS (
      SELECT FROM sagapost.webhook_delivery_jobs AS job
      WHERE job.status = 'Pending' AND job.lease_until = sagapost.held_until(subscription.id)
        AND job.event_id >= $1 AND job.event_id < $2)))`

// By subscription_switches_pkey.
const selectOld = `
  SELECT subscription_id AS id FROM sagapost.subscription_switches
  WHERE subscription_id = ANY ($1::bigint[]) AND switched_at < sagapost.now() - $2 * interval '1 millisecond'`
const forgetThose = `
  DELETE FROM sagapost.subscription_switches
  WHERE subscription_id = ANY ($1::bigint[]) AND switched_at < sagapost.now() - $2 * interval '1 millisecond'`

/** Deletes switches with nothing left to do in any range; open work may not be in the window yet. */
export async function forgetSwitches(
  pool: pg.Pool,
  window: WorkWindow,
  subscriptionIds: readonly string[],
): Promise<void> {
  if (subscriptionIds.length === 0) return
  const { rows } = await pool.query<{ id: string }>(selectOld, [subscriptionIds, KNOWN_FOR_MS])
  let done = rows.map(({ id }) => id)
  for (const range of newestRanges(window)) {
    if (done.length === 0) return
    const { rows: unfinished } = await pool.query<{ id: string }>(inRange(selectUnfinished, range), [
      range.from,
      range.to,
      done,
    ])
    const left = new Set(unfinished.map(({ id }) => id))
    done = done.filter((id) => !left.has(id))
  }
  if (done.length > 0) await pool.query(forgetThose, [done, KNOWN_FOR_MS])
}
