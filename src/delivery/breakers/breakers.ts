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

/** How long workers may go on sending to an endpoint that another worker has found dead. */
const EXCHANGE_MS = 1_000
/** The same, when none is known to fail and this one has sent nothing lately. */
const QUIET_EXCHANGE_MS = 2_000
const FORGET_EVERY_MS = 10 * 60_000

export interface Breakers {
  /** False until they were read for the first time: nothing may be claimed before. */
  isKnown(): boolean
  isOpen(subscriptionId: string): boolean
  open(): string[]
  /** What is known of it, here or elsewhere. One failure among successes changes nothing. */
  standingOf(subscriptionId: string): Standing
  failing(): string[]
  /** Asks what the deliveries tell of those that this worker knows nothing of. */
  recall(subscriptionIds: readonly string[]): Promise<void>
  /** Null: delivered. What says nothing about the endpoint is not noted. A probe was begun while the breaker was open. */
  note(subscriptionId: string, errorCode: string | null, how?: { probe: boolean }): void
  /** Exchanges what was noted with the other workers now. */
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
  /** A breaker has opened, here or elsewhere: its jobs are to be given back. */
  onOpen: () => void
  /** There may be jobs to claim that were not before. */
  onClose: () => void
  /** How many of them may be tried now. */
  roomForProbes: () => number
  /** Try one delivery to each of these. */
  onProbe: (subscriptionIds: readonly string[]) => Promise<void>
}

/** So many failures in a row here, until a subscription that has answered here is doubtful again. */
const FAILURES_FORGIVEN = 3
/** Of so many subscriptions it is remembered that they answer, or that their deliveries tell nothing. */
const KEPT_MAX = 100_000

/** Failures that are ours or the worker's: they tell nothing about the endpoint. */
const notTheEndpoints = new Set(['aborted', 'secret_unreadable', 'invalid_headers', 'invalid_url'])

/**
 * The workers' common knowledge of endpoints. Outcomes are added up here and written once a second, and only for
 * subscriptions that fail or have failed: a healthy one costs nothing. That it answers is told by its completed
 * deliveries; a worker that meets it for the first time asks for one.
 */
export function createBreakers(options: BreakersOptions): Breakers {
  const { pool, policy, log, metrics } = options
  let isKnown = false
  let known: OpenBreakers = { failing: new Set(), open: new Set(), probeDue: false }
  let failed = new Map<string, { failures: number; errorCode: string }>()
  let succeeded = new Set<string>()
  let quiet = false
  let forgottenAtMs = performance.now()
  /** Those that have answered a worker, with their failures here since. */
  const answering = new Map<string, number>()
  /** Those whose deliveries tell nothing. */
  const withoutRecord = new Map<string, true>()
  const recent = createRecentOutcomes(policy.underLoad)
  /** Those that this worker sends nothing to, though the others may not know yet: until the next exchange. */
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
    // What was begun before it opened tells nothing new: only a probe does.
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

  /** Here at once, for all workers with the exchange. */
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
      // For the next exchange, as if all of it had been noted since the last one that worked.
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
        log.info({ subscription_id: subscriptionId }, 'endpoint is back; its breaker is closed')
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
          'endpoint keeps failing; its breaker is open',
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
      // It begins anew: what was counted before does not stop it again.
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
