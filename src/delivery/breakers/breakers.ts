import type pg from 'pg'
import type { Logger } from 'pino'
import type { WorkWindow } from '../../database/index.js'
import { startLoop } from '../../loop/index.js'
import { logFailure, type Recorders } from '../../observability/index.js'
import { type BreakerPolicy, forgetOldFailures, noteFailures, noteSuccesses } from './note-outcomes.js'
import { type OpenBreakers, readOpenBreakers, takeProbes } from './open-breakers.js'
import { recallAnswers } from './recall-answers.js'
import { createRecentOutcomes } from './recent-outcomes.js'
import type { Standing } from './standing.js'

/** How long other workers may keep sending to an endpoint after one worker finds it failing. */
const EXCHANGE_MS = 1_000
/** The same interval while no subscription is known to fail and this worker has sent nothing recently. */
const QUIET_EXCHANGE_MS = 2_000
const FORGET_EVERY_MS = 10 * 60_000

export interface Breakers {
  /** False until the breakers have been read once; no job may be claimed before that. */
  isKnown(): boolean
  isOpen(subscriptionId: string): boolean
  open(): string[]
  /** What any worker knows of the endpoint. A single failure among successes does not change it. */
  standingOf(subscriptionId: string): Standing
  failing(): string[]
  /** Looks up the recent deliveries of subscriptions that this worker has no record of. */
  recall(subscriptionIds: readonly string[]): Promise<void>
  /**
   * A null error code means delivered. Errors that say nothing about the endpoint are ignored. A probe was sent while
   * the breaker was open.
   */
  note(subscriptionId: string, errorCode: string | null, how?: { probe: boolean }): void
  /** Exchanges the recorded outcomes with the other workers now. */
  wake(): void
  stop(): Promise<void>
}

export interface BreakersOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  window: () => WorkWindow
  policy: BreakerPolicy
  log: Logger
  metrics: Pick<Recorders, 'breakerOpened' | 'breakerClosed' | 'loopFailed'>
  /** Called when a breaker has opened, on any worker: its queued jobs must be released. */
  onOpen: () => void
  /** Called when jobs may have become claimable. */
  onClose: () => void
  /** How many probes may start now. */
  roomForProbes: () => number
  /** Attempts one delivery to each of these subscriptions. */
  onProbe: (subscriptionIds: readonly string[]) => Promise<void>
}

/** Consecutive failures on this worker after which an endpoint that has answered here becomes doubtful again. */
const FAILURES_FORGIVEN = 3
/** How many subscriptions are remembered as answering, and how many as having no recent deliveries. */
const KEPT_MAX = 100_000

/** Failures caused by Sagapost or the worker, which say nothing about the endpoint. */
const notTheEndpoints = new Set(['aborted', 'secret_unreadable', 'invalid_headers', 'invalid_url'])

/**
 * What the workers know together about endpoints. Outcomes are added up in memory and written once a second, and only
 * for subscriptions that fail or have failed: a healthy one costs nothing. A worker that meets an endpoint for the
 * first time looks for one of its completed deliveries.
 */
export function createBreakers(options: BreakersOptions): Breakers {
  const { pool, policy, log, metrics } = options
  let isKnown = false
  let known: OpenBreakers = { failing: new Set(), open: new Set(), probeDue: false }
  let failed = new Map<string, { failures: number; errorCode: string }>()
  let succeeded = new Set<string>()
  let quiet = false
  let forgottenAtMs = performance.now()
  /** Subscriptions that have answered any worker, with their consecutive failures on this one since. */
  const answering = new Map<string, number>()
  /** Subscriptions without recent completed deliveries. */
  const withoutRecord = new Map<string, true>()
  const recent = createRecentOutcomes(policy.underLoad)
  /** Subscriptions that this worker has stopped sending to before the next exchange informs the others. */
  const stopped = new Set<string>()

  const isOpen = (id: string) => stopped.has(id) || known.open.has(id)
  const open = () => [...new Set([...known.open, ...stopped])]

  function standingOf(id: string): Standing {
    if (answering.has(id)) return 'answering'
    return known.failing.has(id) || failed.has(id) ? 'failing' : 'untried'
  }

  function remember<Value>(where: Map<string, Value>, id: string, value: Value): void {
    where.set(id, value)
    const [oldest] = where.size > KEPT_MAX ? where.keys() : []
    if (oldest !== undefined) where.delete(oldest)
  }

  async function recall(ids: readonly string[]): Promise<void> {
    const unknown = ids.filter((id) => standingOf(id) === 'untried' && !withoutRecord.has(id))
    if (unknown.length === 0) return
    const recalled = new Set(await recallAnswers(pool, options.window(), unknown))
    for (const id of unknown) {
      if (!recalled.has(id)) remember(withoutRecord, id, true)
      else if (standingOf(id) === 'untried') remember(answering, id, 0)
    }
  }

  function rememberAnswer(id: string, answered: boolean): void {
    const failures = answered ? 0 : (answering.get(id) ?? FAILURES_FORGIVEN) + 1
    answering.delete(id)
    if (failures < FAILURES_FORGIVEN) remember(answering, id, failures)
  }

  function note(id: string, errorCode: string | null, { probe = false } = {}): void {
    if (errorCode !== null && notTheEndpoints.has(errorCode)) return
    const hasFailed = errorCode !== null
    // A request that began before the breaker opened says nothing new; only a probe does.
    if (!hasFailed && !probe && isOpen(id) && recent.isMostlyFailing(id)) return
    rememberAnswer(id, !hasFailed)
    const isTooMuch = recent.add(id, hasFailed, performance.now()) && !isOpen(id)
    if (!hasFailed) {
      succeeded.add(id)
      failed.delete(id)
    } else if (isTooMuch || !succeeded.has(id)) {
      succeeded.delete(id)
      failed.set(id, { failures: (failed.get(id)?.failures ?? 0) + 1, errorCode })
    }
    if (isTooMuch) stop(id)
  }

  /** Effective on this worker at once, and on the others with the next exchange. */
  function stop(id: string): void {
    stopped.add(id)
    options.onOpen()
    loop.wake()
  }

  async function writeNoted(): Promise<void> {
    const noted = { failed, succeeded }
    failed = new Map()
    succeeded = new Set()
    try {
      await write(noted)
    } catch (error) {
      // Kept for the next exchange, as if it had been recorded since the last successful one.
      for (const id of noted.succeeded) {
        if (stopped.has(id)) continue
        succeeded.add(id)
        failed.delete(id)
      }
      for (const [id, run] of noted.failed) {
        if (succeeded.has(id)) continue
        const { failures = 0, errorCode = run.errorCode } = failed.get(id) ?? {}
        failed.set(id, { failures: run.failures + failures, errorCode })
      }
      throw error
    }
  }

  async function write(noted: { failed: typeof failed; succeeded: typeof succeeded }): Promise<void> {
    const runs = [...noted.failed].map(([subscriptionId, run]) => ({
      subscriptionId,
      ...run,
      isStopped: stopped.has(subscriptionId),
    }))
    const ended = [...noted.succeeded].filter((id) => known.failing.has(id))
    if (ended.length > 0) {
      for (const subscriptionId of await noteSuccesses(pool, ended)) {
        metrics.breakerClosed()
        log.info({ subscription_id: subscriptionId }, 'endpoint recovered; its circuit breaker is closed')
      }
    }
    if (runs.length > 0) {
      for (const { subscriptionId, failures } of await noteFailures(pool, runs, policy)) {
        metrics.breakerOpened()
        log.warn(
          {
            subscription_id: subscriptionId,
            error_code: runs.find((run) => run.subscriptionId === subscriptionId)?.errorCode,
            failures,
          },
          'endpoint keeps failing; its circuit breaker is open',
        )
      }
    }
  }

  const loop = startLoop({
    round: async () => {
      quiet = failed.size + succeeded.size + known.open.size + known.failing.size === 0
      const stoppedBefore = [...stopped]
      await writeNoted()
      const before = new Set(open())
      known = await readOpenBreakers(pool)
      for (const id of stoppedBefore) stopped.delete(id)
      if (!isKnown) options.onClose()
      isKnown = true
      if (open().some((id) => !before.has(id))) options.onOpen()
      const closed = [...before].filter((id) => !isOpen(id))
      // The endpoint starts afresh: earlier failures must not stop it again.
      for (const id of closed) recent.forget(id)
      if (closed.length > 0) options.onClose()
      recent.forgetOld(performance.now())
      if (performance.now() - forgottenAtMs > FORGET_EVERY_MS) {
        forgottenAtMs = performance.now()
        await forgetOldFailures(pool, policy)
      }
      const room = known.probeDue ? options.roomForProbes() : 0
      if (room > 0) await options.onProbe(await takeProbes(pool, policy, room))
      return false
    },
    idleMs: () => (quiet ? QUIET_EXCHANGE_MS : EXCHANGE_MS),
    onError: (error) => {
      metrics.loopFailed('worker')
      logFailure(log, error, 'exchanging breakers failed; will try again')
    },
  })

  return {
    isKnown: () => isKnown,
    isOpen,
    open,
    standingOf,
    failing: () => [...known.failing].filter((id) => !answering.has(id)),
    recall,
    note,
    wake: loop.wake,
    stop: () => loop.stop(),
  }
}
