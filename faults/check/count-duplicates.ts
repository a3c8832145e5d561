import type pg from 'pg'
import { LEASE_MS } from '../schedule/plan-schedule.js'
import type { Crash } from '../system/fault-system.js'
import type { Arrival } from '../system/start-receiver.js'

/** A claim waits for no disk: one that is older than this has been written whatever happens (three wal_writer_delays). */
const UNWRITTEN_MS_MAX = 1_000

// All attempts; a requeued delivery begins again with attempt 1.
const attempts = `
  SELECT event_id, subscription_id, attempt, count(*)::int AS jobs, sum(lease_resets)::int AS lost
  FROM sagapost.webhook_delivery_jobs GROUP BY event_id, subscription_id, attempt`

export interface DuplicateCount {
  /** Requests beyond one for each attempt. */
  duplicates: number
  /** Attempts that may have been repeated: leases lost with their report, and claims that a crash took back. */
  bound: number
}

/** What the harness knows of the attempts beside the database. */
export interface AttemptEvidence {
  /** When the requests of an attempt came, by keyOf. */
  arrivals: ReadonlyMap<string, readonly number[]>
  /** Reports that workers say were refused or never made, by keyOf. */
  unreported: ReadonlyMap<string, number>
  /** When workers were killed: the answers to their reports are unknown. */
  workersKilled: readonly number[]
  crashes: readonly Crash[]
}

/**
 * How many claims of an attempt a crash has taken back: its request came shortly before, or afterwards under the old
 * lease, and its report was refused, or its worker was killed before it could tell.
 */
export function claimsTakenBack(evidence: AttemptEvidence, key: string): number {
  const arrivals = evidence.arrivals.get(key) ?? []
  const within = (atMs: number, { fromMs, toMs }: Crash) =>
    atMs >= fromMs - UNWRITTEN_MS_MAX && atMs <= toMs + LEASE_MS
  const crashes = evidence.crashes.filter((crash) => arrivals.some((atMs) => within(atMs, crash)))
  const untold = crashes.filter((crash) => evidence.workersKilled.some((atMs) => within(atMs, crash)))
  return Math.min(crashes.length, (evidence.unreported.get(key) ?? 0) + untold.length)
}

export const keyOf = ({
  eventId,
  subscriptionId,
  attempt,
}: Pick<Arrival, 'eventId' | 'subscriptionId' | 'attempt'>) => `${eventId} ${subscriptionId} ${attempt}`

/** Of all requests that came since the system was opened. */
export async function countDuplicates(pool: pg.Pool, evidence: AttemptEvidence): Promise<DuplicateCount> {
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
    const key = keyOf({ eventId, subscriptionId, attempt })
    const requests = evidence.arrivals.get(key)?.length ?? 0
    duplicates += Math.max(0, requests - jobs)
    bound += lost + claimsTakenBack(evidence, key)
  }
  return { duplicates, bound }
}
