import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from '../system/fault-system.js'

const POLL_MS = 150

// Partial indexes only.
const openWork = `
  SELECT EXISTS (SELECT FROM sagapost.event_routing_queue)
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas WHERE status IN ('Pending', 'InProgress', 'PendingRetry'))
      OR EXISTS (SELECT FROM sagapost.saga_instances WHERE state IN (0, 1, 2, 4)) AS open`

// What is left, by what it waits for.
const leftOver = `
  SELECT string_agg(format('%s %s since %s', number, what, since), '; ') AS left_over
  FROM (
    SELECT count(*) AS number, 'not routed' AS what, min(enqueued_at) AS since FROM sagapost.unrouted_events
    UNION ALL
    SELECT count(*), 'deliveries ' || status, min(updated_at) FROM sagapost.webhook_delivery_sagas
    WHERE status NOT IN ('Completed', 'DeadLettered') GROUP BY status
    UNION ALL
    SELECT count(*), format('jobs %s of subscription %s', status, subscription_id), min(lease_until)
    FROM sagapost.webhook_delivery_jobs WHERE status IN ('Pending', 'Leased') GROUP BY status, subscription_id
    UNION ALL
    SELECT count(*), 'results not applied', min(enqueued_at) FROM sagapost.unapplied_results
    UNION ALL
    SELECT count(*), format('sagas %s in state %s', definition_id, state), min(updated_at)
    FROM sagapost.saga_instances WHERE state IN (0, 1, 2, 4) GROUP BY definition_id, state
    UNION ALL
    SELECT count(*), 'breakers open', min(opened_at) FROM sagapost.subscription_breakers WHERE opened_at IS NOT NULL
    UNION ALL
    SELECT count(*), format('connections of %s %s, %s', application_name, state, left(query, 40)), min(xact_start)
    FROM pg_stat_activity WHERE xact_start < now() - interval '2 s' AND pid <> pg_backend_pid()
    GROUP BY application_name, state, left(query, 40)
  ) AS counted WHERE number > 0`

/** Waits until everything has come to its end; tells what has not when the time is over. */
export async function untilSettled(system: FaultSystem, msMax: number): Promise<string | undefined> {
  const deadline = performance.now() + msMax
  const direct = system.openDirect()
  try {
    for (;;) {
      const { rows } = await direct.query<{ open: boolean }>(openWork)
      if (rows[0]?.open === false) return undefined
      if (performance.now() > deadline) {
        const { rows: left } = await direct.query<{ left_over: string | null }>(leftOver)
        return left[0]?.left_over ?? 'nothing by now'
      }
      await sleep(POLL_MS)
    }
  } finally {
    await direct.end().catch(() => {})
  }
}
