import type pg from 'pg'
import { percentileOf } from './duration-buckets.js'
import { ALL_SUBSCRIPTIONS } from './result-counter.js'

/** How far back a chart reaches, and how long each of its points is: at most 144 points either way. */
const statisticsRanges = {
  hour: { points: 60, pointMinutes: 1 },
  day: { points: 144, pointMinutes: 10 },
} as const

export type StatisticsRange = keyof typeof statisticsRanges

interface StatisticsPoint {
  at: Date
  /** Routed; null where only one subscription is asked for. */
  events: number | null
  succeeded: number
  failed: number
  deadLettered: number
  p50Ms: number | null
  p95Ms: number | null
  p99Ms: number | null
}

/**
 * One row for each point, empty ones included, oldest first; by delivery_minutes_pkey and event_minutes_pkey: at most
 * 1,440 rows of each.
 */
export const selectMinutes = `
  WITH point AS (
    SELECT generate_series(last - ($3 - 1) * width, last, width) AS at, width
    FROM (SELECT date_bin($2 * interval '1 minute', sagapost.now(), 'epoch') AS last,
                 $2 * interval '1 minute' AS width) AS bounds
  ), counted AS (
    SELECT date_bin($2 * interval '1 minute', minute, 'epoch') AS at, sum(succeeded)::int AS succeeded,
           sum(failed)::int AS failed, sum(dead_lettered)::int AS dead_lettered
    FROM sagapost.delivery_minutes
    WHERE subscription_id = $1 AND minute >= (SELECT min(at) FROM point)
    GROUP BY 1
  ), timed AS (
    SELECT at, array_agg(attempts ORDER BY place) AS durations
    FROM (
      SELECT date_bin($2 * interval '1 minute', minute, 'epoch') AS at, place, sum(attempts)::int AS attempts
      FROM sagapost.delivery_minutes CROSS JOIN unnest(durations) WITH ORDINALITY AS bucket (attempts, place)
      WHERE subscription_id = $1 AND minute >= (SELECT min(at) FROM point)
      GROUP BY 1, 2
    ) AS buckets
    GROUP BY at
  ), published AS (
    SELECT date_bin($2 * interval '1 minute', minute, 'epoch') AS at, sum(events)::int AS events
    FROM sagapost.event_minutes WHERE minute >= (SELECT min(at) FROM point) GROUP BY 1
  )
  SELECT at, coalesce(events, 0) AS events, coalesce(succeeded, 0) AS succeeded, coalesce(failed, 0) AS failed,
         coalesce(dead_lettered, 0) AS dead_lettered, coalesce(durations, '{}') AS durations
  FROM point LEFT JOIN counted USING (at) LEFT JOIN timed USING (at) LEFT JOIN published USING (at)
  ORDER BY at`

interface Row {
  at: Date
  events: number
  succeeded: number
  failed: number
  dead_lettered: number
  durations: number[]
}

/** The points of a chart, under the role saga_readonly_role. Without a subscription: of all of them. */
export async function readStatistics(
  pool: pg.Pool,
  { range, subscriptionId }: { range: StatisticsRange; subscriptionId?: string | undefined },
): Promise<StatisticsPoint[]> {
  const { points, pointMinutes } = statisticsRanges[range]
  const values = [subscriptionId ?? ALL_SUBSCRIPTIONS, pointMinutes, points]
  const { rows } = await pool.query<Row>(selectMinutes, values)
  return rows.map((row) => ({
    at: row.at,
    events: subscriptionId === undefined ? row.events : null,
    succeeded: row.succeeded,
    failed: row.failed,
    deadLettered: row.dead_lettered,
    p50Ms: percentileOf(row.durations, 0.5),
    p95Ms: percentileOf(row.durations, 0.95),
    p99Ms: percentileOf(row.durations, 0.99),
  }))
}
