import type pg from 'pg'
import type { Logger } from 'pino'
import { type EventRange, visitInTurn, type WorkWindow } from '../../database/index.js'
import {
  createBulkPace,
  type Loop,
  ROUND_SPACING_MS,
  spaceRounds,
  startLoop,
  type Wakeups,
} from '../../loop/index.js'
import { logFailure, logFields, type Recorders, type ResultCounter } from '../../observability/index.js'
import { createResultApplier } from './apply-past-refused.js'
import { createBacklogMark } from './backlog-mark.js'
import type { DeadDelivery } from './dead-delivery.js'
import { workDueInMs } from './look-ahead.js'
import { makeJobs, makePassingJobs } from './make-jobs.js'
import type { RetryPolicy } from './retry-policy.js'

const BATCH_MAX = 500
const NEVER_MS = 2 ** 31 - 1
const PAUSE_MS_MIN = 20
/** After work, more is likely to be announced soon; the next retry is looked up only when nothing is. */
const SETTLE_MS = 100
/** Retries usually wait for seconds or longer, so they are not looked for with every announced result. */
const ALL_EVERY_MS = 50
/** Older ranges checked in one look for due work; each costs half a ms of PostgreSQL CPU. */
const OLDER_LOOKED_AT = 16

export interface OrchestratorOptions {
  /** Under the role saga_orchestrator. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'resultApplied' | 'jobsMade' | 'deadLettered' | 'loopFailed'>
  /** Feeds the dashboard's charts. */
  counter: Pick<ResultCounter, 'count' | 'countDead'>
  policy: RetryPolicy
  /** Called when a receiver has answered 410. */
  onGone: () => void
  /** The longest pause; a retry that is due earlier ends it. */
  pollMs: () => number
}

export interface Orchestrator extends Loop {
  /** Counts and logs deliveries that ended while waiting for a retry. */
  buryWaiting(deliveries: readonly DeadDelivery[]): void
}

/** The loop that moves sagas: applies results, creates first and retry jobs, wakes the workers. */
export function startOrchestrator(options: OrchestratorOptions): Orchestrator {
  const { pool, window, wakeups, log, metrics, counter, policy, pollMs } = options

  const applier = createResultApplier(pool, {
    batchMax: BATCH_MAX,
    policy,
    window,
    onRefused: (queueId, error) => {
      metrics.loopFailed('orchestrator')
      logFailure(log, error, 'results cannot be applied; will try again in a minute', { queue_id: queueId })
    },
  })

  async function apply(): Promise<{ done: number; more: boolean }> {
    const { results, more } = await applier.apply()
    for (const result of results) {
      counter.count(result)
      metrics.resultApplied({ status: result.status, latencyMs: result.ageMs })
      if (result.status === 'DeadLettered') bury(result)
      else if (log.isLevelEnabled('debug')) {
        log.debug({ ...fieldsOf(result), status: result.status }, 'result applied')
      }
    }
    if (results.some(({ errorCode }) => errorCode === 'http_410')) options.onGone()
    return { done: results.length, more }
  }

  let mark = createBacklogMark()

  function noteMade(first: number, retries: number): void {
    metrics.jobsMade('first', first)
    metrics.jobsMade('retry', retries)
    if (first + retries === 0) return
    log.debug({ first, retries }, 'jobs made')
    wakeups.wake('claims')
  }

  async function make(range: EventRange, what: { first: boolean; retries: boolean }): Promise<number> {
    const made = await makeJobs(pool, { range, batchMax: BATCH_MAX, limit: policy.limit, ...what })
    buryWaiting(made.dead)
    noteMade(made.first, made.retries)
    return made.first + made.retries
  }

  const pace = createBulkPace(wakeups.hasBacklog)

  async function makeFirst(): Promise<boolean> {
    if (pace.dueInMs() > 0) return false
    const startedAtMs = performance.now()
    const { fresh, older } = window()
    let more = false
    for (const range of [fresh, ...nextRequeued(older)]) {
      if ((await make(range, { first: true, retries: false })) >= BATCH_MAX) more = true
    }
    pace.ended(startedAtMs, more)
    if (more) passing.wake()
    else mark = createBacklogMark()
    return more && pace.dueInMs() === 0
  }

  async function makePassing(): Promise<boolean> {
    if (!pace.hasMore()) return false
    const { made, last } = await makePassingJobs(pool, {
      range: window().fresh,
      batchMax: BATCH_MAX,
      pastSaga: mark.pastSaga(),
    })
    pace.passed(made)
    noteMade(made, 0)
    if (last !== null) mark.looked(last)
    return false
  }

  /** These deliveries waited for a retry; no result accompanies their end. */
  function buryWaiting(deliveries: readonly DeadDelivery[]): void {
    for (const delivery of deliveries) {
      counter.countDead(delivery.subscriptionId)
      bury(delivery)
    }
  }

  function bury(delivery: DeadDelivery): void {
    metrics.deadLettered(delivery.errorCode)
    log.warn(fieldsOf(delivery), 'delivery dead-lettered')
  }

  // [J11, O5]
  const fieldsOf = (delivery: DeadDelivery) => ({
    ...logFields(delivery),
    attempt_count: delivery.attemptCount,
  })

  const nextRequeued = visitInTurn()
  const nextOlder = visitInTurn()
  const nextLooked = visitInTurn(OLDER_LOOKED_AT)
  /** Older ranges with due work, as found by the last look. */
  let dueOlder: readonly EventRange[] = []
  const spacing = spaceRounds(wakeups.hasBacklog)
  let dueInMs = 0
  let allAtMs = 0
  let lockedPauseMs = PAUSE_MS_MIN
  const onError = (error: Error) => {
    metrics.loopFailed('orchestrator')
    logFailure(log, error, 'orchestrating failed; will try again')
  }
  const loop = startLoop({
    round: async (told) => {
      const { fresh, older } = window()
      if (told || dueInMs === 0) {
        const ranges = [fresh, ...new Set([...dueOlder, ...(told ? nextOlder(older) : [])])]
        dueOlder = []
        // New deliveries wake the other loop; this one looks for them only when the last look found some.
        const first = dueInMs === 0
        const all = first || performance.now() >= allAtMs
        const startedAtMs = performance.now()
        if (all) allAtMs = startedAtMs + ALL_EVERY_MS
        const work = [await apply()]
        for (const range of all ? ranges : []) {
          const done = await make(range, { first, retries: true })
          work.push({ done, more: done >= BATCH_MAX })
        }
        const found = work.some(({ done }) => done > 0)
        spacing.ended(Math.max(...work.map(({ done }) => done)), performance.now() - startedAtMs)
        // Due rows that cannot be found are locked elsewhere; ask again at growing intervals.
        lockedPauseMs = found ? PAUSE_MS_MIN : Math.min(lockedPauseMs * 2, pollMs())
        if (work.some(({ more }) => more)) return true
        if (found) {
          dueInMs = SETTLE_MS
          return false
        }
      }
      spacing.ended(0, 0)
      const looked = [fresh, ...nextLooked(older)]
      const dueInEachMs: number[] = []
      for (const range of looked) dueInEachMs.push(await workDueInMs(pool, range))
      dueInMs = Math.min(...dueInEachMs)
      dueOlder = looked.filter((range, at) => range !== fresh && dueInEachMs[at] === 0)
      return false
    },
    idleMs: () => (dueInMs === 0 ? lockedPauseMs : Math.min(Math.ceil(dueInMs), pollMs())),
    spacingMs: spacing.ms,
    onError,
  })
  // Separate from the results, whose rounds are further apart under load: a new delivery needs only its job.
  const firstJobs = startLoop({
    round: async (told) => (told || pace.hasMore()) && makeFirst(),
    idleMs: () => (pace.hasMore() ? pace.dueInMs() : NEVER_MS),
    spacingMs: ROUND_SPACING_MS,
    onError,
  })
  // Rounds over a backlog take long, so new deliveries of other subscriptions have rounds of their own.
  const passing: Loop = startLoop({
    round: makePassing,
    idleMs: NEVER_MS,
    spacingMs: pace.passingSpacingMs,
    onError,
  })
  const unsubscribe = [
    wakeups.onWake('first-jobs', () => {
      firstJobs.wake()
      passing.wake()
    }),
    wakeups.onWake('results', loop.wake),
  ]
  return {
    wake: loop.wake,
    buryWaiting,
    async stop() {
      for (const each of unsubscribe) each()
      await Promise.all([firstJobs.stop(), passing.stop(), loop.stop()])
    },
  }
}
