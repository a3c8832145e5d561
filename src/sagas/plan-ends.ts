import { baseOf, sagaEvents, stepChange, stepEvents } from './change-parts.js'
import type { CompensationCause } from './decide-next.js'
import type { ClaimedSaga, SagaChange } from './records.js'
import { attemptError, type SagaError } from './saga-error.js'
import type { SagaRun } from './saga-run.js'

/** From here on everything that may have been done is undone; steps that were never reached are skipped. */
export function planCompensation(run: SagaRun, cause: CompensationCause): SagaChange {
  const pending = run.steps.filter(({ state }) => state === 'Pending')
  const failed = run.steps.find(({ state }) => state === 'Failed')
  return {
    ...baseOf(run),
    state: 'Compensating',
    error: cause === 'failed' ? (failed?.error ?? run.saga.error) : causeError(cause),
    ...(cause === 'timed_out' ? { timedOut: true } : {}),
    steps: pending.map((step) => stepChange(step, { state: 'Skipped' })),
    events: [
      ...sagaEvents(run.saga.state, 'Compensating', { data: { cause } }),
      ...pending.flatMap((step) => stepEvents(step, 'Skipped')),
    ],
  }
}

function causeError(cause: 'cancelled' | 'timed_out'): SagaError {
  return cause === 'cancelled'
    ? attemptError('saga_cancelled', 'the saga was cancelled', false)
    : attemptError('saga_timed_out', 'the deadline of the saga has passed', false)
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
    steps: pending.map((step) => stepChange(step, { state: 'Skipped' })),
    events: [
      ...pending.flatMap((step) => stepEvents(step, 'Skipped')),
      ...sagaEvents(run.saga.state, state, error === null ? {} : { error }),
    ],
  }
}

/** Lets go of the lease, so that another (or this one, later) can go on. */
export function planRelease(run: SagaRun, wakeInMs: number): SagaChange {
  return { ...baseOf(run), release: { wakeInMs } }
}

/** The same for one that cannot be run here. Overdue or cancelled, it would be due at once, and again, before all others. */
export function planSetAside({ saga, steps, signals }: ClaimedSaga, wakeInMs: number): SagaChange {
  const run: SagaRun = { saga, steps, signals, definition: { steps: [], compensation: 'reverse' } }
  return { ...baseOf(run), release: { wakeInMs, setAside: true } }
}
