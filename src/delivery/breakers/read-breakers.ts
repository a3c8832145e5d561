import type pg from 'pg'

/** The circuit breaker of a failing subscription; a healthy one has none. */
export interface Breaker {
  /**
   * `open`: paused except for occasional probes. `exhausted`: the longest pause is over and the endpoint still fails.
   */
  state: 'failing' | 'open' | 'exhausted'
  /** Consecutive failures. */
  failures: number
  failingSince: Date
  lastErrorCode: string | null
  openedAt: Date | null
  pausedUntil: Date | null
  nextProbeAt: Date | null
}

// By subscription_breakers_pkey.
const selectBreakers = `
  SELECT subscription_id, failures, failing_since, last_error_code, opened_at, paused_until,
         CASE WHEN paused_until > sagapost.now() THEN probe_at END AS probe_at,
         CASE WHEN opened_at IS NULL THEN 'failing' WHEN paused_until > sagapost.now() THEN 'open' ELSE 'exhausted' END AS state
  FROM sagapost.subscription_breakers WHERE subscription_id = ANY ($1::bigint[])`

/** Under subscription_admin or saga_readonly_role. */
export async function readBreakers(
  pool: pg.Pool,
  subscriptionIds: readonly string[],
): Promise<Map<string, Breaker>> {
  const { rows } = await pool.query(selectBreakers, [subscriptionIds])
  return new Map(
    rows.map((row) => [
      row.subscription_id,
      {
        state: row.state,
        failures: row.failures,
        failingSince: row.failing_since,
        lastErrorCode: row.last_error_code,
        openedAt: row.opened_at,
        pausedUntil: row.paused_until,
        nextProbeAt: row.probe_at,
      },
    ]),
  )
}
