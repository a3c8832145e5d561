import type pg from 'pg'
import { ALL_SUBSCRIPTIONS } from './result-counter.js'

/** What has been counted in one minute so far. */
export interface MinuteCounts {
  minute: number
  events: number
  succeeded: number
  failed: number
  deadLettered: number
  durations: readonly number[]
}

/** A handful of rows, by delivery_minutes_pkey and event_minutes_pkey. */
export const selectRecent = `
  SELECT minute, coalesce(events, 0) AS events, coalesce(succeeded, 0) AS succeeded, coalesce(failed, 0) AS failed,
         coalesce(dead_lettered, 0) AS dead_lettered, coalesce(durations, '{}') AS durations
  FROM (SELECT * FROM sagapost.delivery_minutes
        WHERE subscription_id = $1 AND minute >= sagapost.now() - interval '3 minutes') AS delivered
  FULL JOIN (SELECT * FROM sagapost.event_minutes WHERE minute >= sagapost.now() - interval '3 minutes') AS published
    USING (minute)
  ORDER BY minute`

/** The last minutes of all subscriptions together, oldest first, under the role saga_readonly_role. */
export async function readRecent(pool: pg.Pool): Promise<MinuteCounts[]> {
  const { rows } = await pool.query(selectRecent, [ALL_SUBSCRIPTIONS])
  return rows.map((row) => ({
    minute: (row.minute as Date).getTime(),
    events: row.events,
    succeeded: row.succeeded,
    failed: row.failed,
    deadLettered: row.dead_lettered,
    durations: row.durations,
  }))
}
