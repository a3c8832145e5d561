import type pg from 'pg'
import type { Logger } from 'pino'
import type { EventRange, WorkWindow } from '../database/index.js'
import { type Loop, ROUND_SPACING_MS, startLoop, type Wakeups } from '../loop/index.js'
import { logFields, type Recorders } from '../observability/index.js'
import {
  applyResults,
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
  /** The longest pause; a retry that falls due earlier ends it. */
  pollMs: () => number
}

/** The loop that moves sagas: applies results, makes first and retry jobs, wakes the workers. */
export function startOrchestrator(options: OrchestratorOptions): Loop {
  const { pool, window, wakeups, log, metrics, counter, policy, pollMs } = options

  /** Returns the size of the largest batch. */
  async function orchestrate(range: EventRange, retries: boolean): Promise<number> {
    const applied = await applyResults(pool, { range, batchMax: BATCH_MAX, policy })
    for (const result of applied) {
      counter.count(result)
      metrics.resultApplied({ status: result.status, latencyMs: result.ageMs })
      if (result.status === 'DeadLettered') bury(result)
      else if (log.isLevelEnabled('debug')) {
        log.debug({ ...fieldsOf(result), status: result.status }, 'result applied')
      }
    }
    const made = await makeJobs(pool, { range, batchMax: BATCH_MAX, limit: policy.limit, retries })
    for (const delivery of made.dead) {
      counter.countDead(delivery.subscriptionId)
      bury(delivery)
    }
    metrics.jobsMade('first', made.first)
    metrics.jobsMade('retry', made.retries)
    const jobs = made.first + made.retries
    if (jobs > 0) {
      log.debug({ first: made.first, retries: made.retries }, 'jobs made')
      wakeups.wake('claims')
    }
    return Math.max(applied.length, jobs)
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

  let dueInMs = 0
  let retriesAtMs = 0
  let lockedPauseMs = PAUSE_MS_MIN
  const loop = startLoop({
    round: async (told) => {
      const { fresh, older } = window()
      const ranges = older ? [fresh, older] : [fresh]
      if (told || dueInMs === 0) {
        const retries = dueInMs === 0 || performance.now() >= retriesAtMs
        if (retries) retriesAtMs = performance.now() + RETRIES_EVERY_MS
        let most = 0
        for (const range of ranges) most = Math.max(most, await orchestrate(range, retries))
        // What is due and cannot be found is in other hands: asked for again, less and less often.
        lockedPauseMs = most > 0 ? PAUSE_MS_MIN : Math.min(lockedPauseMs * 2, pollMs())
        if (most >= BATCH_MAX) return true
        if (most > 0) {
          dueInMs = SETTLE_MS
          return false
        }
      }
      dueInMs = Math.min(...(await Promise.all(ranges.map((range) => workDueInMs(pool, range)))))
      return false
    },
    idleMs: () => (dueInMs === 0 ? lockedPauseMs : Math.min(Math.ceil(dueInMs), pollMs())),
    spacingMs: ROUND_SPACING_MS,
    onError: (error) => {
      metrics.loopFailed('orchestrator')
      log.error({ err: error }, 'orchestrating failed; will try again')
    },
  })
  const unsubscribe = [wakeups.onWake('first-jobs', loop.wake), wakeups.onWake('results', loop.wake)]
  return {
    wake: loop.wake,
    async stop() {
      for (const each of unsubscribe) each()
      await loop.stop()
    },
  }
}
