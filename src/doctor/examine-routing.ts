import type pg from 'pg'
import { type Finding, finding, fine } from './finding.js'

/** As many of the newest events are looked at; `--invariants` looks at all. */
const EVENTS_LOOKED_AT = 10_000

// From the ends of the partitions' events_pkey.
const selectNewest = `
  SELECT greatest(coalesce(max(id), 0) - $1::bigint, $2::bigint)::text AS from_id FROM sagapost.events`

// By events_pkey and uniq_saga_event_subscription, for the newest events.
const countLost = `
  SELECT count(DISTINCT event_id)::int AS lost FROM sagapost.lost_events($1, 9223372036854775807)`

// By events_pkey and the keys of deliveries and jobs, for the newest events. As invariant new_results_are_queued, for results that
// wait for ever.
const countLostResults = `
  SELECT count(*)::int AS lost
  FROM (
    SELECT job.id FROM sagapost.webhook_delivery_sagas AS saga
    JOIN sagapost.webhook_delivery_jobs AS job
      ON job.saga_id = saga.id AND job.event_id = saga.event_id AND job.attempt > saga.attempt_count
    WHERE saga.event_id >= $1 AND saga.status = 'InProgress' AND job.event_id >= $1 AND job.status IN ('Completed', 'Failed')
    EXCEPT SELECT job_id FROM sagapost.unapplied_results WHERE event_id >= $1) AS missing`

/** Whether what was published and reported lately is on its way. */
export async function examineRouting(pool: pg.Pool, firstEventId: string): Promise<Finding[]> {
  const { rows } = await pool.query<{ from_id: string }>(selectNewest, [EVENTS_LOOKED_AT, firstEventId])
  const from = [rows[0]?.from_id]
  const count = async (sql: string) => (await pool.query<{ lost: number }>(sql, from)).rows[0]?.lost ?? 0
  const events = await count(countLost)
  const results = await count(countLostResults)
  const among = `of the last ${EVENTS_LOOKED_AT} events`
  return [
    events > 0
      ? finding('routing', 'events_lost', `${events} ${among} were lost on their way to the router`)
      : fine('routing', 'every recent event is routed or queued'),
    results > 0
      ? finding(
          'results',
          'results_lost',
          `${results === 1 ? '1 result' : `${results} results`} ${among} never reached the orchestrator`,
        )
      : fine('results', 'every recent result is applied or queued'),
  ]
}
