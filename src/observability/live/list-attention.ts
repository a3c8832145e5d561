import type pg from 'pg'
import type { StageBacklog } from '../backlog/index.js'
import { listProcesses } from '../system/index.js'
import { countWaitingLetters } from './count-waiting-letters.js'

/** Conditions that need an operator's attention, most urgent first. */
export interface Attention {
  kind:
    | 'database'
    | 'late_stage'
    | 'set_aside_events'
    | 'expired_leases'
    | 'lost_process'
    | 'failing_endpoint'
    | 'dead_letters'
    | 'stuck_sagas'
  severity: 'failing' | 'attention'
  /** One line. */
  text: string
  /** What it is about: a stage, a process, or the id of a subscription. */
  subject: string | null
}

/** Work that waits longer than this at a stage is not being processed. */
const WAITING_S_MAX = 60
/** A lease that expired less than this ago is normal. */
const LEASE_EXPIRED_S_MAX = 30
const ENDPOINTS_MAX = 5
/** A process that was killed and has left nothing behind is news for this long. */
const LOST_NEWS_MS = 10 * 60_000
/** Fewer consecutive failures are normal. */
const FAILURES_MIN = 5
const HOUR_S = 3_600
/** Each costs one probe of an index, every few seconds while the dashboard is open. */
const DEAD_LETTERS_EXAMINED_MAX = 500

const workers: Readonly<Record<string, string>> = {
  routing: 'events wait for a router',
  first_jobs: 'deliveries wait for an orchestrator',
  retries_due: 'retries wait for an orchestrator',
  claims: 'jobs wait for a worker',
  results: 'results wait for an orchestrator',
  sagas_due: 'sagas wait for a coordinator',
}

/** The whole of subscription_breakers, which holds endpoints in trouble only; subscriptions by their key. */
export const selectFailingEndpoints = `
  SELECT breaker.subscription_id, failures, last_error_code, paused_until > sagapost.now() AS paused, callback_url
  FROM sagapost.subscription_breakers AS breaker
  JOIN sagapost.subscriptions AS subscription ON subscription.id = breaker.subscription_id
  WHERE failures >= $1 AND subscription.deleted_at IS NULL
  ORDER BY opened_at IS NULL, failures DESC LIMIT $2`

/** Under the role saga_readonly_role. */
export async function listAttention(pool: pg.Pool, stages: readonly StageBacklog[]): Promise<Attention[]> {
  const [processes, endpoints, dead] = await Promise.all([
    listProcesses(pool),
    pool.query(selectFailingEndpoints, [FAILURES_MIN, ENDPOINTS_MAX]),
    countWaitingLetters(pool, { withinS: HOUR_S, examinedMax: DEAD_LETTERS_EXAMINED_MAX }),
  ])
  const found: Attention[] = stages.flatMap(({ stage, count, oldestAgeS }): Attention[] => {
    const ageS = Math.round(oldestAgeS ?? 0)
    const since = `, the oldest for ${describeAge(ageS)}`
    if (count === 0) return []
    if (stage === 'leases_expired') {
      if (ageS <= LEASE_EXPIRED_S_MAX) return []
      const text = `${count} leases have run out, and no cleaner has reset them${since}`
      return [{ kind: 'expired_leases', severity: 'failing', text, subject: stage }]
    }
    if (stage === 'set_aside') {
      const text = `${count} ${count === 1 ? 'event was' : 'events were'} set aside: the database refuses to route them${since}`
      return [{ kind: 'set_aside_events', severity: 'failing', text, subject: null }]
    }
    if (stage === 'sagas_stuck') {
      const text = `${count} ${count === 1 ? 'saga waits' : 'sagas wait'} for an operator${since}`
      return [{ kind: 'stuck_sagas', severity: 'attention', text, subject: null }]
    }
    const waiting = workers[stage]
    if (!waiting || ageS <= WAITING_S_MAX) return []
    return [{ kind: 'late_stage', severity: 'failing', text: `${count} ${waiting}${since}`, subject: stage }]
  })
  for (const { id, lost, leases, seenAt } of processes) {
    if (!lost || (leases === 0 && (seenAt?.getTime() ?? 0) < Date.now() - LOST_NEWS_MS)) continue
    const held = leases > 0 ? ` and holds ${leases} leases` : ''
    const since = seenAt ? ` since ${seenAt.toISOString()}` : ''
    const text = `Process ${id} has not reported${since}${held}`
    found.push({ kind: 'lost_process', severity: leases > 0 ? 'failing' : 'attention', text, subject: id })
  }
  for (const row of endpoints.rows) {
    const what = row.paused ? 'is paused' : 'keeps failing'
    const text = `${row.callback_url} ${what}: ${row.failures} failures in a row, the last ${row.last_error_code}`
    found.push({ kind: 'failing_endpoint', severity: 'attention', text, subject: row.subscription_id })
  }
  if (dead.waiting > 0) {
    const count = `${dead.waiting}${dead.more ? ' or more' : ''}`
    const text = `${count} dead ${dead.waiting === 1 ? 'letter' : 'letters'} within the last hour, not requeued`
    found.push({ kind: 'dead_letters', severity: 'attention', text, subject: null })
  }
  return found.sort((a, b) => Number(b.severity === 'failing') - Number(a.severity === 'failing'))
}

function describeAge(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
