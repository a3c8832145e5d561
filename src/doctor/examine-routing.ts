import type pg from 'pg'
import type { Finding } from './examine-system.js'

/** As many of the newest events are looked at; `--invariants` looks at all. */
const EVENTS_LOOKED_AT = 10_000

// The two triggers that fill the queues, on their tables and on the partitions, and any other that was switched off.
const selectTriggersOff = `
  SELECT array_agg(trigger.name || ' on ' || trigger.table_name ORDER BY 1) AS names
  FROM (
    SELECT tgname AS name, tgrelid::regclass::text AS table_name
    FROM pg_catalog.pg_trigger
    JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid AND relnamespace = 'sagapost'::regnamespace
    WHERE NOT tgisinternal AND tgenabled IN ('D', 'R')
    UNION
    SELECT wanted.name, wanted.table_name
    FROM (VALUES ('event_enqueue_routing', 'sagapost.events'),
                 ('job_enqueue_results', 'sagapost.webhook_delivery_jobs')) AS wanted (name, table_name)
    WHERE NOT EXISTS (
      SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = wanted.table_name::regclass AND tgname = wanted.name)
  ) AS trigger`

// From the ends of the partitions' events_pkey.
const selectNewest = `
  SELECT greatest(coalesce(max(id), 0) - $1::bigint, $2::bigint)::text AS from_id FROM sagapost.events`

// By events_pkey and uniq_saga_event_subscription, for the newest events.
const countLost = `
  SELECT count(DISTINCT event_id)::int AS lost FROM sagapost.lost_events($1, 9223372036854775807)`

/** Whether what is published is queued, and whether what was published lately is. */
export async function examineRouting(pool: pg.Pool, firstEventId: string): Promise<Finding[]> {
  const { rows: off } = await pool.query<{ names: string[] | null }>(selectTriggersOff)
  const { rows: newest } = await pool.query<{ from_id: string }>(selectNewest, [
    EVENTS_LOOKED_AT,
    firstEventId,
  ])
  const { rows: counted } = await pool.query<{ lost: number }>(countLost, [newest[0]?.from_id])
  const names = off[0]?.names
  const lost = counted[0]?.lost ?? 0
  const found: Finding[] = []
  if (names) {
    const detail = `triggers are disabled or missing: ${names.join(', ')}; enable them with ALTER TABLE … ENABLE ALWAYS TRIGGER …`
    found.push({ check: 'routing', severity: 'failing', detail })
  }
  if (lost > 0) {
    const detail = `${lost} of the last ${EVENTS_LOOKED_AT} events were lost on their way to the router; sagapost events requeue routes them`
    found.push({ check: 'routing', severity: 'failing', detail })
  }
  if (found.length > 0) return found
  return [{ check: 'routing', severity: 'ok', detail: 'every recent event is routed or queued' }]
}
