import { encodeJson } from '../json.js'
import type { ClaimedSaga, Release, SagaChange } from '../records.js'
import { attemptError, retellError, type SagaError } from '../saga-error.js'
import { sagaTopic } from '../topics.js'
import { baseOf, sagaEvents, stepAt, stepChange, stepEvents } from './change-parts.js'
import type { CompensationCause } from './decide-next.js'
import { isPastPivot, type SagaRun } from './saga-run.js'
import type { StuckWait } from './stuck-wait.js'

/**
 * From here on everything that may have been done is undone; steps that were never reached are skipped, and those that
 * wait do so no longer.
 */
export function planCompensation(run: SagaRun, cause: CompensationCause): SagaChange {
  const pending = run.steps.filter(({ state }) => state === 'Pending')
  const waiting = run.steps.filter(({ state }) => state === 'Running')
  const stopped = cause === 'failed' ? branchStopped() : causeError(cause)
  return {
    ...baseOf(run),
    state: 'Compensating',
    error: cause === 'failed' ? (firstCause(run) ?? run.saga.error) : stopped,
    ...(cause === 'timed_out' ? { timedOut: true } : {}),
    steps: [
      ...waiting.map((step) => stepChange(step, { state: 'Failed', error: stopped })),
      ...pending.map((step) => stepChange(step, { state: 'Skipped' })),
    ],
    events: [
      ...waiting.flatMap((step) =>
        stepEvents(step, 'Failed', { error: stopped, data: { attempt: step.attempts } }),
      ),
      ...sagaEvents(run.saga.state, 'Compensating', { data: { cause } }),
      ...pending.flatMap((step) => stepEvents(step, 'Skipped')),
    ],
  }
}

/** Of the step that failed for good; not of a branch that was stopped for it, or that waits for a retry. */
function firstCause({ steps }: SagaRun): SagaError | undefined {
  const failed = steps.filter(({ state }) => state === 'Failed')
  const forGood = failed.find(
    ({ error, attempts, maxAttempts }) =>
      error?.code !== 'branch_stopped' && (error?.retryable === false || attempts >= maxAttempts),
  )
  return (forGood ?? failed[0])?.error ?? undefined
}

function causeError(cause: 'cancelled' | 'timed_out'): SagaError {
  return cause === 'cancelled'
    ? attemptError('saga_cancelled', 'the saga was cancelled', false)
    : attemptError('saga_timed_out', 'the deadline of the saga has passed', false)
}

function branchStopped(): SagaError {
  return attemptError('branch_stopped', 'another branch has failed', false)
}

/**
 * All steps are done. A child has done its part with that, and goes on to wait: it is completed together with its
 * parent, and until then it can be undone with it.
 */
export function planComplete(run: SagaRun, { parentIsOver = false } = {}): SagaChange {
  const result = resultOf(run)
  const done = {
    ...baseOf(run),
    currentStep: run.steps.length,
    release: { wakeInMs: null },
    ...(result === undefined ? {} : { result }),
    ...newsOf(run),
  }
  if (run.saga.parentId !== null && !parentIsOver) return done
  return { ...done, state: 'Completed', finished: true, events: sagaEvents(run.saga.state, 'Completed') }
}

/** What the last step returned; of several at once, by their names. */
function resultOf({ steps, definition }: SagaRun): string | undefined {
  const last = definition.steps.at(-1)?.stage
  const stage = steps.filter(({ index }) => definition.steps[index]?.stage === last)
  if (stage.length === 1) return encodeJson(stage[0]?.output)
  try {
    return encodeJson(Object.fromEntries(stage.map(({ name, output }) => [name, output])))
  } catch {
    // Together they may be too long; each is kept as its own step's output.
    return undefined
  }
}

/** A parent hears of its child's end, a child of its parent's. */
function newsOf({ saga, definition }: SagaRun): Pick<SagaChange, 'wakes'> {
  const related = saga.parentId !== null || definition.steps.some(({ kind }) => kind === 'saga')
  return related ? { wakes: [sagaTopic(saga.id)] } : {}
}

export function planEnd(
  run: SagaRun,
  state: 'Compensated' | 'Cancelled' | 'TimedOut' | 'Failed',
): SagaChange {
  const early = run.saga.state === 'Pending'
  const pending = early ? run.steps : []
  const gaveUp = run.steps.find((step) => step.compensation?.state === 3)
  const error = state === 'Failed' ? (gaveUp?.compensation?.error ?? null) : run.saga.error
  return {
    ...baseOf(run),
    state,
    error: early ? causeError(state === 'Cancelled' ? 'cancelled' : 'timed_out') : error,
    awaitingOperator: state === 'Failed',
    finished: true,
    ...(early && state === 'TimedOut' ? { timedOut: true } : {}),
    release: { wakeInMs: null },
    ...newsOf(run),
    steps: pending.map((step) => stepChange(step, { state: 'Skipped' })),
    events: [
      ...pending.flatMap((step) => stepEvents(step, 'Skipped')),
      ...sagaEvents(run.saga.state, state, error === null ? {} : { error: retellError(error) }),
    ],
  }
}

/**
 * It waits on. Of what only an operator can help with, the rows say so and why; past the pivot no time-out would help
 * either, so that nobody looks again before there is news.
 */
export function planWait(run: SagaRun, indexes: readonly number[], stuck: readonly StuckWait[]): SagaChange {
  const past = isPastPivot(run)
  const steps = indexes.flatMap((index) => {
    const step = stepAt(run, index)
    const error = stuck.find((wait) => wait.index === index)?.error ?? null
    if (step.state !== 'Running' || (error === null && step.error === null)) return []
    const wake = step.wakeAt === null || (past && error !== null) ? {} : { wake: { at: step.wakeAt } }
    return stepChange(step, { error, ...wake })
  })
  return { ...baseOf(run), awaitingOperator: stuck.length > 0, steps }
}

/** Lets go of the lease, so that another (or this one, later) can go on. */
export function planRelease(run: SagaRun, release: Release): SagaChange {
  return { ...baseOf(run), release }
}

/** The same for one that cannot be run here. Overdue or cancelled, it would be due at once, and again, before all others. */
export function planSetAside({ saga, steps, signals }: ClaimedSaga, wakeInMs: number): SagaChange {
  const run: SagaRun = { saga, steps, signals, definition: { steps: [], compensation: 'reverse' } }
  return { ...baseOf(run), release: { wakeInMs, setAside: true } }
}
