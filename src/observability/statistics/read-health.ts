import type pg from 'pg'
import { percentileOf } from './duration-buckets.js'

/** Health of a subscription's endpoint over the last hour. */
export interface EndpointHealth {
  subscriptionId: string
  succeeded: number
  failed: number
  deadLettered: number
  p50Ms: number | null
  p95Ms: number | null
  /** To the minute. */
  lastErrorCode: string | null
  lastErrorAt: Date | null
}

/** At most 60 rows for each subscription, by delivery_minutes_pkey. */
export const selectHealth = `
  SELECT wanted.id AS subscription_id, counted.succeeded, counted.failed, counted.dead_lettered, timed.durations,
         error.last_error_code, error.minute AS last_error_at
  FROM unnest($1::bigint[]) AS wanted (id)
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(succeeded), 0)::int AS succeeded, coalesce(sum(failed), 0)::int AS failed,
           coalesce(sum(dead_lettered), 0)::int AS dead_lettered
    FROM sagapost.delivery_minutes
    WHERE subscription_id = wanted.id AND minute > sagapost.now() - interval '1 hour'
  ) AS counted
  CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(attempts ORDER BY place), '{}') AS durations
    FROM (
      SELECT place, sum(attempts)::int AS attempts
      FROM sagapost.delivery_minutes CROSS JOIN unnest(durations) WITH ORDINALITY AS bucket (attempts, place)
      WHERE subscription_id = wanted.id AND minute > sagapost.now() - interval '1 hour'
      GROUP BY place
    ) AS buckets
  ) AS timed
  LEFT JOIN LATERAL (
    SELECT last_error_code, minute FROM sagapost.delivery_minutes
    WHERE subscription_id = wanted.id AND minute > sagapost.now() - interval '1 hour' AND last_error_code IS NOT NULL
    ORDER BY minute DESC LIMIT 1
  ) AS error ON true`

/** In the order of the ids, under the role saga_readonly_role. One without deliveries has zeros. */
export async function readHealth(
  pool: pg.Pool,
  subscriptionIds: readonly string[],
): Promise<EndpointHealth[]> {
  const { rows } = await pool.query(selectHealth, [subscriptionIds])
  const found = new Map(rows.map((row) => [row.subscription_id as string, row]))
  return subscriptionIds.flatMap((subscriptionId) => {
    const row = found.get(subscriptionId)
    if (!row) return []
    return {
      subscriptionId,
      succeeded: row.succeeded,
      failed: row.failed,
      deadLettered: row.dead_lettered,
      p50Ms: percentileOf(row.durations, 0.5),
      p95Ms: percentileOf(row.durations, 0.95),
      lastErrorCode: row.last_error_code,
      lastErrorAt: row.last_error_at,
    }
  })
}
