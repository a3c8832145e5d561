import type pg from 'pg'
import type { OutcomeLimits } from './recent-outcomes.js'

/** When consecutive failures pause an endpoint, and when deliveries resume. */
export interface BreakerPolicy {
  /** This many consecutive failures … */
  failuresMin: number
  /** … over at least this time open the breaker. */
  failingMsMin: number
  /**
   * Under load the breaker opens sooner: on these outcomes of one worker, or on as many consecutive failures across all
   * workers.
   */
  underLoad: OutcomeLimits
  /** While the breaker is open, one delivery is attempted per interval. */
  probeEveryMs: number
  /** The longest pause. After it, deliveries are attempted again until they succeed or are dead-lettered. */
  pauseMsMax: number
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failuresMin: 10,
  failingMsMin: 120_000,
  underLoad: { outcomes: 50, failures: 45, withinMs: 60_000 },
  probeEveryMs: 30_000,
  pauseMsMax: 24 * 3_600_000,
}

export interface FailureRun {
  subscriptionId: string
  failures: number
  errorCode: string
  /** This worker has seen enough failures to stop sending. */
  isStopped: boolean
}

// By subscription_breakers_pkey, in one order for all workers. Opens a breaker once; it stays open until a success.
const addFailures = `
  INSERT INTO sagapost.subscription_breakers AS breaker
    (subscription_id, failures, last_error_code, opened_at, paused_until, probe_at)
  SELECT subscription_id, failures, error_code, opening,
         opening + $7 * interval '1 millisecond', opening + $6 * interval '1 millisecond'
  FROM unnest($1::bigint[], $2::int[], $3::text[], $9::boolean[]) AS run (subscription_id, failures, error_code, is_stopped),
    LATERAL (SELECT CASE WHEN is_stopped OR failures >= $8 THEN sagapost.now() END AS opening) AS decision
  ORDER BY subscription_id
  ON CONFLICT (subscription_id) DO UPDATE
  SET failures = breaker.failures + excluded.failures,
      last_error_code = excluded.last_error_code,
      last_failed_at = sagapost.now(),
      (opened_at, paused_until, probe_at) = (
        SELECT coalesce(breaker.opened_at, opening),
               coalesce(breaker.paused_until, opening + $7 * interval '1 millisecond'),
               coalesce(breaker.probe_at, opening + $6 * interval '1 millisecond')
        FROM (SELECT CASE WHEN excluded.opened_at IS NOT NULL OR breaker.failures + excluded.failures >= $8
                OR (breaker.failures + excluded.failures >= $4
                  AND breaker.failing_since <= sagapost.now() - $5 * interval '1 millisecond')
                THEN sagapost.now() END AS opening) AS decision)
  RETURNING subscription_id, failures, opened_at = sagapost.now() AS opened`

/** Records failures, under the role job_worker. Returns the subscriptions whose breaker has just opened. */
export async function noteFailures(
  pool: pg.Pool,
  runs: readonly FailureRun[],
  policy: BreakerPolicy,
): Promise<{ subscriptionId: string; failures: number }[]> {
  const { rows } = await pool.query<{ subscription_id: string; failures: number; opened: boolean | null }>(
    addFailures,
    [
      runs.map(({ subscriptionId }) => subscriptionId),
      runs.map(({ failures }) => failures),
      runs.map(({ errorCode }) => errorCode),
      policy.failuresMin,
      policy.failingMsMin,
      policy.probeEveryMs,
      policy.pauseMsMax,
      policy.underLoad.outcomes,
      runs.map(({ isStopped }) => isStopped),
    ],
  )
  return rows
    .filter(({ opened }) => opened)
    .map(({ subscription_id, failures }) => ({ subscriptionId: subscription_id, failures }))
}

// By subscription_breakers_pkey; locked in the order that everybody keeps.
const endRuns = `
  WITH ended AS MATERIALIZED (
    SELECT subscription_id FROM sagapost.subscription_breakers
    WHERE subscription_id = ANY ($1::bigint[]) ORDER BY subscription_id FOR UPDATE
  )
  DELETE FROM sagapost.subscription_breakers AS breaker USING ended
  WHERE breaker.subscription_id = ended.subscription_id
  RETURNING breaker.subscription_id, opened_at IS NOT NULL AS was_open`

/** A success resets the count of failures. Returns the subscriptions whose breaker was open until now. */
export async function noteSuccesses(pool: pg.Pool, subscriptionIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ subscription_id: string; was_open: boolean }>(endRuns, [
    subscriptionIds,
  ])
  return rows.filter(({ was_open }) => was_open).map(({ subscription_id }) => subscription_id)
}

// The whole table. A subscription that was switched off, or gets no events, would keep its row for ever.
const forgetIdleRuns = `
  DELETE FROM sagapost.subscription_breakers WHERE subscription_id IN (
    SELECT subscription_id FROM sagapost.subscription_breakers
    WHERE last_failed_at < sagapost.now() - $1 * interval '1 millisecond'
    ORDER BY subscription_id FOR UPDATE SKIP LOCKED)`

/** Forgets subscriptions that have had no failure for as long as the longest pause. */
export async function forgetOldFailures(pool: pg.Pool, { pauseMsMax }: BreakerPolicy): Promise<void> {
  await pool.query(forgetIdleRuns, [pauseMsMax])
}
