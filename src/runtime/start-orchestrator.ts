import type pg from 'pg'
import type { Logger } from 'pino'
import { type EventRange, visitInTurn, type WorkWindow } from '../database/index.js'
import { type Loop, spaceRounds, startLoop, type Wakeups } from '../loop/index.js'
import { logFailure, logFields, type Recorders } from '../observability/index.js'
import {
  createResultApplier,
  type DeadDelivery,
  makeJobs,
  type RetryPolicy,
  workDueInMs,
} from '../orchestrator/index.js'
import type { ResultCounter } from '../statistics/index.js'

const BATCH_MAX = 500
const PAUSE_MS_MIN = 20
/** After work, more is likely to be announced; only when it is not, the next retry is looked for. */
const SETTLE_MS = 100
/** Retries wait for seconds at the least, usually: while work is announced, they are not looked for each time. */
const RETRIES_EVERY_MS = 50
/** In one look for what is due; each costs half a ms of PostgreSQL's CPU. */
const OLDER_LOOKED_AT = 16

export interface OrchestratorOptions {
  /** Under the role saga_orchestrator. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'resultApplied' | 'jobsMade' | 'deadLettered' | 'loopFailed'>
  /** For the charts of the dashboard. */
  counter: Pick<ResultCounter, 'count' | 'countDead'>
  policy: RetryPolicy
  /** A receiver has answered 410. */
  onGone: () => void
  /** The longest pause; a retry that falls due earlier ends it. */
  pollMs: () => number
}

export interface Orchestrator extends Loop {
  /** Counts and logs deliveries that ended while they waited for a retry. */
  buryWaiting(deliveries: readonly DeadDelivery[]): void
}

/** The loop that moves sagas: applies results, makes first and retry jobs, wakes the workers. */
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

  let hasBacklog = false

  async function make(
    range: EventRange,
    { retries, isFresh }: { retries: boolean; isFresh: boolean },
  ): Promise<{ done: number; more: boolean }> {
    const made = await makeJobs(pool, {
      range,
      batchMax: BATCH_MAX,
      limit: policy.limit,
      retries,
      hasBacklog: isFresh && hasBacklog,
    })
    if (isFresh) hasBacklog = made.first >= BATCH_MAX
    buryWaiting(made.dead)
    metrics.jobsMade('first', made.first)
    metrics.jobsMade('retry', made.retries)
    const jobs = made.first + made.retries
    if (jobs > 0) {
      log.debug({ first: made.first, retries: made.retries }, 'jobs made')
      wakeups.wake('claims')
    }
    return { done: jobs, more: jobs >= BATCH_MAX }
  }

  /** They waited for a retry; no result came with their end. */
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

  const nextOlder = visitInTurn()
  const nextLooked = visitInTurn(OLDER_LOOKED_AT)
  /** Older ranges whose work is due, as the last look has found. */
  let dueOlder: readonly EventRange[] = []
  const spacing = spaceRounds(wakeups.hasBacklog)
  let dueInMs = 0
  let retriesAtMs = 0
  let lockedPauseMs = PAUSE_MS_MIN
  const loop = startLoop({
    round: async (told) => {
      const { fresh, older } = window()
      if (told || dueInMs === 0) {
        const ranges = [fresh, ...new Set([...dueOlder, ...(told ? nextOlder(older) : [])])]
        dueOlder = []
        const retries = dueInMs === 0 || performance.now() >= retriesAtMs
        const startedAtMs = performance.now()
        if (retries) retriesAtMs = startedAtMs + RETRIES_EVERY_MS
        const work = [await apply()]
        for (const range of ranges) work.push(await make(range, { retries, isFresh: range === fresh }))
        const found = work.some(({ done }) => done > 0)
        spacing.ended(Math.max(...work.map(({ done }) => done)), performance.now() - startedAtMs)
        // What is due and cannot be found is in other hands: asked for again, less and less often.
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
    onError: (error) => {
      metrics.loopFailed('orchestrator')
      logFailure(log, error, 'orchestrating failed; will try again')
    },
  })
  const unsubscribe = [wakeups.onWake('first-jobs', loop.wake), wakeups.onWake('results', loop.wake)]
  return {
    wake: loop.wake,
    buryWaiting,
    async stop() {
      for (const each of unsubscribe) each()
      await loop.stop()
    },
  }
}
