import type pg from 'pg'
import type { Logger } from 'pino'
import { type EventRange, visitInTurn, type WorkWindow } from '../../database/index.js'
import { startLoop, type Wakeups } from '../../loop/index.js'
import { logFailure, logFields, type Recorders } from '../../observability/index.js'
import type { ClaimedJob } from './claim-jobs.js'
import type { HeldJob } from './held-jobs.js'
import { putAside } from './put-aside.js'
import { forgetSwitches, readSwitches, type SwitchStates } from './read-switches.js'
import { repeatUntil } from './report-while-leased.js'
import { letGoHeldJobs, type StoppedJob, stopCancelledJobs, stopFreeJobs } from './take-stopped.js'

/** Jobs put aside per transaction. */
const BATCH_MAX = 500
/** A failed statement is retried while the leases last; after a stop, no longer than this. */
const SETTLE_AFTER_STOP_MS = 5_000

export interface Switches {
  /** Returns the jobs that are to be sent, and puts the others aside. */
  admit(jobs: readonly HeldJob[], askedAtMs: number): readonly HeldJob[]
  /** Whether the last look found the job stopped. */
  isStopped(job: HeldJob): boolean
  /** Subscriptions whose free jobs are being put aside now: claim none of them. */
  busy(): readonly string[]
  stop(): Promise<void>
}

export interface SwitchesOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'attemptFinished' | 'loopFailed'>
  workerId: string
  leaseMs: number
  pollMs: () => number
  /** Removes claimed jobs that have not started. */
  withdraw: (unwanted: (job: HeldJob) => boolean) => HeldJob[]
  giveBack: (jobs: readonly HeldJob[]) => Promise<void>
}

/**
 * Stops jobs of subscriptions that were switched off or deleted, and of cancelled deliveries. A claim checks each job
 * as it is taken; this withdraws jobs that were claimed earlier, and works off unclaimed ones in batches beside the
 * claims, so that other jobs do not wait behind them.
 */
export function createSwitches(options: SwitchesOptions): Switches {
  const { pool, window, wakeups, log, metrics, workerId, leaseMs } = options
  const nextOlder = visitInTurn()
  const settling = new Set<Promise<void>>()
  let known: SwitchStates = { on: [], off: new Set(), deleted: new Set(), cancelled: new Set() }
  let knownAtMs = Number.NEGATIVE_INFINITY
  let busy = new Set<string>()
  /** How far the free jobs of a range were examined; absent when a look starts. */
  const lookedUntil = new Map<string, Date>()
  /** Older ranges still to be examined since a wake-up or a find. */
  let olderLeft = 0
  let isTold = true
  let stoppedAtMs = Number.POSITIVE_INFINITY

  const isStopped = (job: ClaimedJob) =>
    known.off.has(job.subscriptionId) ||
    known.deleted.has(job.subscriptionId) ||
    known.cancelled.has(job.deliveryId)

  /** Idempotent, so a lost answer is harmless. */
  function settle(jobs: readonly HeldJob[]): void {
    const leaseEndsMs = Math.min(...jobs.map((job) => job.leaseEndsMs))
    const endsMs = () => Math.min(leaseEndsMs, stoppedAtMs + SETTLE_AFTER_STOP_MS)
    const settled = repeatUntil(endsMs, () => putAside(pool, jobs, window))
      .then(() => tell(jobs))
      .catch((error: Error) =>
        logFailure(log, error, 'stopped jobs could not be updated; their leases will expire'),
      )
      .finally(() => settling.delete(settled))
    settling.add(settled)
  }

  function tell(jobs: readonly (ClaimedJob | StoppedJob)[]): void {
    const ended = jobs.filter(({ stop }) => stop !== null && stop !== 'held')
    for (const job of ended) {
      metrics.attemptFinished({ delivered: false, errorCode: job.stop, durationMs: 0 })
      log.info(fieldsOf(job), 'not sent')
    }
    for (const job of jobs)
      if (job.stop === 'held') log.debug(fieldsOf(job), 'held: its subscription is inactive')
    if (ended.length > 0) wakeups.wake('results')
    if (jobs.some(({ stop }) => stop === null)) wakeups.wake('claims')
  }

  // [J11, O5]
  const fieldsOf = (job: ClaimedJob | StoppedJob) =>
    logFields({
      ...job,
      jobId: job.id,
      workerId,
      leaseExpiration: job.leaseUntil,
      errorCode: job.stop === 'held' ? null : job.stop,
    })

  function forgetLook(): void {
    busy = new Set()
    lookedUntil.clear()
  }

  /** One batch of each kind in each range, in a few of the older ones; true when there may be more. */
  async function work(): Promise<boolean> {
    const { fresh, older } = window()
    const { on, off, deleted } = known
    const starts = new Set([fresh, ...older].map(({ from }) => from))
    for (const from of lookedUntil.keys()) if (!starts.has(from)) lookedUntil.delete(from)
    const visited = nextOlder(older)
    let jobs = 0
    let more = false
    for (const range of [fresh, ...visited]) {
      const done = await workIn(range)
      jobs += done.jobs
      more ||= done.more
    }
    if (lookedUntil.size === 0) busy = new Set()
    for (const id of busy) if (!off.has(id) && !deleted.has(id)) busy.delete(id)
    olderLeft = jobs > 0 ? older.length : Math.max(0, olderLeft - visited.length)
    if (jobs === 0) await forgetSwitches(pool, window(), [...on, ...off, ...deleted])
    return more || olderLeft > 0
  }

  async function workIn(range: EventRange): Promise<{ jobs: number; more: boolean }> {
    const { on, off, deleted, cancelled } = known
    const taking = { range, batchMax: BATCH_MAX, leaseMs, workerId }
    const stopped = [...off, ...deleted]
    const switched = [...on, ...deleted]
    const free =
      stopped.length > 0
        ? await stopFreeJobs(pool, taking, stopped, lookedUntil.get(range.from))
        : { jobs: [], lookedUntil: new Date(0) }
    if (free.jobs.length === BATCH_MAX) {
      for (const { subscriptionId } of free.jobs) busy.add(subscriptionId)
      lookedUntil.set(range.from, free.lookedUntil)
    } else lookedUntil.delete(range.from)
    const held = switched.length > 0 ? await letGoHeldJobs(pool, taking, switched) : []
    const ended = cancelled.size > 0 ? await stopCancelledJobs(pool, taking) : []
    const jobs = [...free.jobs, ...held, ...ended]
    tell(jobs)
    const heldNow = jobs.filter(({ stop }) => stop === 'held').length
    if (heldNow > 0) log.info({ jobs: heldNow }, 'jobs are held: their subscriptions are inactive')
    if (held.length > 0) log.info({ jobs: held.length }, 'held jobs were released')
    return { jobs: jobs.length, more: [free.jobs, held, ended].some(({ length }) => length === BATCH_MAX) }
  }

  const loop = startLoop({
    round: async () => {
      if (isTold) olderLeft = window().older.length
      isTold = false
      known = await readSwitches(pool)
      knownAtMs = performance.now()
      const { on, off, deleted, cancelled } = known
      if (on.length + off.size + deleted.size + cancelled.size === 0) {
        forgetLook()
        return false
      }
      // The next claim decides again for each of these jobs.
      await options.giveBack(options.withdraw(isStopped))
      return work()
    },
    idleMs: options.pollMs,
    onError: (error) => {
      metrics.loopFailed('worker')
      logFailure(log, error, 'reading stopped subscriptions and cancelled deliveries failed; will try again')
    },
  })
  const unsubscribe = wakeups.onWake('switches', () => {
    isTold = true
    loop.wake()
  })

  return {
    admit(jobs, askedAtMs) {
      // A claim in flight during the last look may predate it; the next claim decides.
      const isOld = (job: HeldJob) => askedAtMs < knownAtMs && isStopped(job)
      if (jobs.every((job) => job.stop === null && !isOld(job))) return jobs
      const stopped = jobs.filter(({ stop }) => stop !== null)
      if (stopped.length > 0) settle(stopped)
      const rest = jobs.filter(({ stop }) => stop === null)
      void options.giveBack(rest.filter(isOld))
      return rest.filter((job) => !isOld(job))
    },
    isStopped,
    busy: () => [...busy],
    async stop() {
      stoppedAtMs = performance.now()
      unsubscribe()
      await loop.stop()
      await Promise.all(settling)
    },
  }
}
