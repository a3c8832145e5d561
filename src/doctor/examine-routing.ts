import type pg from 'pg'
import { findNewestEvent } from './find-newest-event.js'
import { type Finding, finding, fine } from './finding.js'

/** As many of the newest events are looked at; `--invariants` looks at all. */
const EVENTS_LOOKED_AT = 10_000n

// By events_pkey and uniq_saga_event_subscription, for the newest events.
const countLost = `
  SELECT count(DISTINCT event_id)::int AS lost FROM sagapost.lost_events($1, $2)`

// By events_pkey and the keys of deliveries and jobs, for the newest events. As invariant new_results_are_queued, for results that
// wait for ever.
const countLostResults = `
  SELECT count(*)::int AS lost
  FROM (
    SELECT job.id FROM sagapost.webhook_delivery_sagas AS saga
    JOIN sagapost.webhook_delivery_jobs AS job
      ON job.saga_id = saga.id AND job.event_id = saga.event_id AND job.attempt > saga.attempt_count
    WHERE saga.event_id >= $1 AND saga.event_id < $2 AND saga.status = 'InProgress'
      AND job.event_id >= $1 AND job.event_id < $2 AND job.status IN ('Completed', 'Failed')
    EXCEPT SELECT job_id FROM sagapost.unapplied_results WHERE event_id >= $1 AND event_id < $2) AS missing`

/** Whether what was published and reported lately is on its way. */
export async function examineRouting(pool: pg.Pool, firstEventId: string): Promise<Finding[]> {
  const newest = BigInt(await findNewestEvent(pool))
  const from =
    newest - EVENTS_LOOKED_AT > BigInt(firstEventId) ? newest - EVENTS_LOOKED_AT : BigInt(firstEventId)
  const bounds = [String(from), String(newest + 1n)]
  const count = async (sql: string) => (await pool.query<{ lost: number }>(sql, bounds)).rows[0]?.lost ?? 0
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
