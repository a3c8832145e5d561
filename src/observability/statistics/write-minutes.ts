import type pg from 'pg'
import type { ResultCounts } from './result-counter.js'

/**
 * Adds counts to the minute that the database is in, by delivery_minutes_pkey and in one order for all orchestrators. As
 * JSON, because unnest has no arrays of arrays. Lazily: should a crash of the server lose it, a few counts are gone.
 */
export const addToDeliveryMinutes = `
  WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
  )
  INSERT INTO sagapost.delivery_minutes AS known
    (subscription_id, minute, succeeded, failed, dead_lettered, durations, last_error_code)
  SELECT "subscriptionId", date_trunc('minute', sagapost.now(), 'UTC'), succeeded, failed, "deadLettered", durations,
         "lastErrorCode"
  FROM lazily CROSS JOIN jsonb_to_recordset($1::jsonb) AS counted (
    "subscriptionId" bigint, succeeded integer, failed integer, "deadLettered" integer, durations integer[],
    "lastErrorCode" text)
  ORDER BY "subscriptionId"
  ON CONFLICT (subscription_id, minute) DO UPDATE
  SET succeeded = known.succeeded + excluded.succeeded,
      failed = known.failed + excluded.failed,
      dead_lettered = known.dead_lettered + excluded.dead_lettered,
      durations = ARRAY(
        SELECT coalesce(old, 0) + coalesce(more, 0)
        FROM unnest(known.durations, excluded.durations) WITH ORDINALITY AS bucket (old, more, place) ORDER BY place),
      last_error_code = coalesce(excluded.last_error_code, known.last_error_code)`

/** Under the role saga_orchestrator. */
export async function writeDeliveryMinutes(pool: pg.Pool, counts: readonly ResultCounts[]): Promise<void> {
  if (counts.length > 0) await pool.query(addToDeliveryMinutes, [JSON.stringify(counts)])
}

/** By event_minutes_pkey. */
const addToEventMinutes = `
  INSERT INTO sagapost.event_minutes AS known (minute, events)
  VALUES (date_trunc('minute', sagapost.now(), 'UTC'), $1)
  ON CONFLICT (minute) DO UPDATE SET events = known.events + excluded.events`

/** Under the role router_worker. */
export async function writeEventMinutes(pool: pg.Pool, events: number): Promise<void> {
  if (events > 0) await pool.query(addToEventMinutes, [events])
}
