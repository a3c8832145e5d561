import type pg from 'pg'
import { LEASE_MS } from '../schedule/plan-schedule.js'
import type { Crash } from '../system/fault-system.js'
import type { Arrival } from '../system/start-receiver.js'

/** A claim waits for no disk: one that is older than this has been written whatever happens (three wal_writer_delays). */
const UNWRITTEN_MS_MAX = 1_000

// All attempts; a requeued delivery begins again with attempt 1.
const attempts = `
  SELECT event_id, subscription_id, attempt, count(*)::int AS jobs, sum(lease_resets + probes)::int AS lost
  FROM sagapost.webhook_delivery_jobs GROUP BY event_id, subscription_id, attempt`

export interface DuplicateCount {
  /** Requests beyond one for each attempt. */
  duplicates: number
  /** Attempts that may have been repeated: leases lost with their report, and claims that a crash took back. */
  bound: number
}

/** How many claims of an attempt a crash may have taken back: its request was seen then, or later under its old lease. */
export function claimsTakenBack(arrivals: readonly number[], crashes: readonly Crash[]): number {
  return crashes.filter(({ fromMs, toMs }) =>
    arrivals.some((atMs) => atMs >= fromMs - UNWRITTEN_MS_MAX && atMs <= toMs + LEASE_MS),
  ).length
}

export const keyOf = ({
  eventId,
  subscriptionId,
  attempt,
}: Pick<Arrival, 'eventId' | 'subscriptionId' | 'attempt'>) => `${eventId} ${subscriptionId} ${attempt}`

/** Of all requests that came since the system was opened. */
export async function countDuplicates(
  pool: pg.Pool,
  groups: ReadonlyMap<string, readonly number[]>,
  crashes: readonly Crash[],
): Promise<DuplicateCount> {
  const { rows } = await pool.query<{
    event_id: string
    subscription_id: string
    attempt: number
    jobs: number
    lost: number
  }>(attempts)
  let duplicates = 0
  let bound = 0
  for (const { event_id: eventId, subscription_id: subscriptionId, attempt, jobs, lost } of rows) {
    const arrivals = groups.get(keyOf({ eventId, subscriptionId, attempt }))
    if (arrivals === undefined) continue
    duplicates += Math.max(0, arrivals.length - jobs)
    bound += lost + claimsTakenBack(arrivals, crashes)
  }
  return { duplicates, bound }
}
