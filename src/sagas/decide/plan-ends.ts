import { encodeJson } from '../json.js'
import type { ClaimedSaga, Release, SagaChange } from '../records.js'
import { attemptError, retellError, type SagaError } from '../saga-error.js'
import { sagaTopic } from '../topics.js'
import { baseOf, sagaEvents, stepAt, stepChange, stepEvents } from './change-parts.js'
import type { CompensationCause } from './decide-next.js'
import { isPastPivot, type SagaRun } from './saga-run.js'
import type { StuckWait } from './stuck-wait.js'

/**
 * Begins the compensation: everything that may have been done is undone, steps that were never reached are skipped, and
 * waiting steps stop waiting.
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

/** The error of the step that failed for good, not of a branch that was stopped for it or that waits for a retry. */
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
 * Plans the end after all steps. A child then waits: it is completed together with its parent, and can be undone until
 * then.
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

/** The last step's output; for a stage of several steps, their outputs by name. */
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

/** Notifies the parent of a child's end, and children of their parent's. */
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
 * Keeps waiting, and records which waits only an operator can end, and why. Past the pivot a time-out would not help
 * either, so that the saga is not due again before there is news.
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

/** Releases the lease, so that this or another coordinator can continue later. */
export function planRelease(run: SagaRun, release: Release): SagaChange {
  return { ...baseOf(run), release }
}

/**
 * Releases a saga that cannot be run here. If it is overdue or cancelled, the pause keeps it from being due again at
 * once, before all others.
 */
export function planSetAside({ saga, steps, signals }: ClaimedSaga, wakeInMs: number): SagaChange {
  const run: SagaRun = { saga, steps, signals, definition: { steps: [], compensation: 'reverse' } }
  return { ...baseOf(run), release: { wakeInMs, setAside: true } }
}
