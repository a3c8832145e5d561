import { setTimeout as pause } from 'node:timers/promises'
import { baseOf, decideNext, planCompleted, planFailed } from '../decide/index.js'
import { TIMER_MS_MAX } from '../duration.js'
import type { SagaChange } from '../records.js'
import { advanceSaga } from './advance-saga.js'
import type { CallOutcome } from './call-step.js'
import { callStepCode } from './call-step-code.js'
import { type Begun, type HeldSaga, stopSignal } from './held-saga.js'
import type { RunOptions } from './run-saga.js'
import { runTransaction, type TransactionOutcome } from './run-transaction.js'

/**
 * Calls begun steps and records each as it ends, together with what follows from it, until there is nothing to call.
 * Branches run at the same time, but their writes change one row and so run one after the other.
 */
export async function runStage(
  held: HeldSaga,
  options: RunOptions,
  first: readonly Begun[],
): Promise<'given_up' | 'idle'> {
  /** Steps whose code is running; a task also includes the record of its end. */
  const active = new Map<number, true>()
  const tasks = new Set<Promise<void>>()
  const branches = new AbortController()
  let turn: Promise<void> = Promise.resolve()
  let givenUp = false
  let failure: { readonly error: unknown } | undefined
  const isStopping = () => givenUp || options.isStopping()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const worked = turn.then(work)
    turn = worked.then(() => {})
    // The caller of the work handles its error.
    turn.catch(() => {})
    return worked
  }

  const start = (begun: readonly Begun[]): void => {
    for (const { index } of begun) active.set(index, true)
    for (const each of begun) {
      // Also for a branch that starts alone: others that wait for a retry may still fail for good.
      const outer = isBranch(held, each) ? AbortSignal.any([held.forward, branches.signal]) : held.forward
      const task = call(each, outer)
        .then((outcome) => inTurn(() => note(each, outcome)))
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => tasks.delete(task))
      tasks.add(task)
    }
  }

  const call = (begun: Begun, outer: AbortSignal): Promise<CallOutcome | TransactionOutcome> => {
    const step = held.definition.steps[begun.index]
    if (step === undefined) throw new Error(`there is no step ${begun.index}`)
    if (step.kind === 'transaction') return runTransaction(held, options, begun, step)
    return callStepCode(held, { step, begun, outer, graceMs: options.graceMs })
  }

  const note = async ({ index, spanId }: Begun, outcome: CallOutcome | TransactionOutcome): Promise<void> => {
    active.delete(index)
    if (outcome.ok === 'given_up') givenUp = true
    else if (outcome.ok === 'written') start(outcome.next)
    else {
      const change = outcome.ok
        ? planCompleted(held.run, index, outcome.output, spanId)
        : planFailed(held.run, index, outcome.error, spanId)
      await goOn(change)
      if (active.size > 0 && decideNext(held.run, { active }).do === 'compensate') {
        branches.abort(stopSignal('branch_failed'))
      }
    }
  }

  const goOn = async (change: SagaChange): Promise<void> => {
    const { change: whole, begun } = await advanceSaga(held, change, { active, now: held.now() }, isStopping)
    await held.write(whole)
    start(begun)
  }

  /** Retries a failed branch when it is due, though others still run. False: it is not retried, now or later. */
  const retryDue = async (): Promise<boolean> => {
    const moment = { active, now: held.now() }
    if (active.size === 0 || isStopping()) return false
    // In a busy process timers fire early.
    if (decideNext(held.run, moment).do !== 'begin') return (msUntilRetry(held, moment.now) ?? 0) > 0
    await goOn(baseOf(held.run))
    return true
  }

  start(first)
  try {
    for (let retrying = true; tasks.size > 0; ) {
      const retryMs = retrying && active.size > 0 ? msUntilRetry(held) : undefined
      const ended = await raceTasks(tasks, retryMs)
      retrying = ended === 'task' || (await inTurn(retryDue))
      if (failure) throw failure.error
    }
    return givenUp ? 'given_up' : 'idle'
  } catch (error) {
    // The other branches must not write any more.
    branches.abort(stopSignal('lost'))
    await Promise.allSettled(tasks)
    throw error
  }
}

/** Its stage has other steps. */
function isBranch({ definition: { steps } }: HeldSaga, { index }: Begun): boolean {
  return steps.some((step, place) => place !== index && step.stage === steps[index]?.stage)
}

/** Waits until a task has ended, or for this time. */
async function raceTasks(
  tasks: ReadonlySet<Promise<void>>,
  ms: number | undefined,
): Promise<'task' | 'time'> {
  if (ms === undefined) {
    await Promise.race(tasks)
    return 'task'
  }
  const over = new AbortController()
  const timer = pause(Math.min(ms, TIMER_MS_MAX), 'time' as const, { signal: over.signal }).catch(
    () => 'time' as const,
  )
  const ended = Promise.race(tasks).then(() => 'task' as const)
  return Promise.race([ended, timer]).finally(() => over.abort())
}

/** The time until the next retry of a branch that failed while others run. */
function msUntilRetry(held: HeldSaga, now: Date = held.now()): number | undefined {
  const times = held.run.steps.flatMap(({ state, wakeAt }) =>
    state === 'Failed' && wakeAt !== null ? wakeAt.getTime() : [],
  )
  if (times.length === 0) return undefined
  return Math.max(0, Math.min(...times) - now.getTime())
}
