import {
  baseOf,
  delayOf,
  INTERRUPTED_RUNS_MAX,
  sagaEvents,
  stepAt,
  stepChange,
  stepEvents,
} from './change-parts.js'
import type { EventChange, SagaChange } from './records.js'
import { attemptError, type SagaError } from './saga-error.js'
import { applyChange, type SagaRun, stepStateNumber } from './saga-run.js'

/** The intent: written before the step is called, so that a crash in between is known. */
export function planRun(run: SagaRun, index: number, spanId: string): SagaChange {
  const step = stepAt(run, index)
  const { state } = run.saga
  const change = stepChange(step, {
    state: 'Running',
    attempts: step.attempts + 1,
    error: null,
    started: true,
  })
  return {
    ...baseOf(run),
    state: 'Running',
    currentStep: index,
    started: true,
    steps: [change],
    events: [
      ...(state === 'Running' ? [] : sagaEvents(state, 'Running')),
      ...stepEvents(step, 'Running', { spanId, data: { attempt: change.attempts } }),
    ],
  }
}

/** The same for the first step of a saga that is begun with its start. */
export function planFirstRun(spanId: string): EventChange[] {
  return [
    ...sagaEvents('Pending', 'Running'),
    ...stepEvents({ state: 'Pending', index: 0 }, 'Running', { spanId, data: { attempt: 1 } }),
  ]
}

/** The checkpoint after a run. The last step completes the saga. */
export function planCompleted(
  run: SagaRun,
  index: number,
  output: string | undefined,
  spanId: string,
): SagaChange {
  const step = stepAt(run, index)
  const last = index === run.steps.length - 1
  const kept = output === undefined ? {} : { output }
  return {
    ...baseOf(run),
    state: last ? 'Completed' : 'StepCompleted',
    currentStep: index + 1,
    ...(last ? { finished: true, release: { wakeInMs: null } } : {}),
    ...(last && output !== undefined ? { result: output } : {}),
    steps: [stepChange(step, { state: 'Completed', error: null, finished: true, ...kept })],
    events: [
      ...stepEvents(step, 'Completed', { spanId, data: { attempt: step.attempts } }),
      ...sagaEvents('Running', last ? 'Completed' : 'StepCompleted'),
    ],
  }
}

/**
 * The checkpoint of a run and the intent of the next one, as one write. The saga stays Running: nobody could ever see it
 * in between, and there is no move to record.
 */
export function planAdvance(
  run: SagaRun,
  completed: SagaChange,
  next: { readonly index: number; readonly spanId: string },
): SagaChange {
  const begun = planRun(applyChange(run, completed), next.index, next.spanId)
  return {
    ...begun,
    version: completed.version,
    steps: [...completed.steps, ...begun.steps],
    events: [...completed.events, ...begun.events].filter(({ stepIndex }) => stepIndex !== null),
  }
}

/** A failed run. When it is tried again later, the saga is let go until then. */
export function planFailed(run: SagaRun, index: number, error: SagaError, spanId?: string): SagaChange {
  const step = stepAt(run, index)
  const again = error.retryable !== false && step.attempts < step.maxAttempts
  const exhausted = error.retryable !== false && !again && step.maxAttempts > 1
  const failed = stepStateNumber('Failed')
  const span = spanId === undefined ? {} : { spanId }
  return {
    ...baseOf(run),
    ...(again ? releaseFor(run, index, step.attempts, 'retry') : { error }),
    steps: [stepChange(step, { state: 'Failed', error })],
    events: [
      ...stepEvents(step, 'Failed', { error, data: { attempt: step.attempts }, ...span }),
      ...(exhausted
        ? [{ type: 'retry.exhausted', stepIndex: index, oldState: failed, newState: failed } as const]
        : []),
    ],
  }
}

/** Whoever ran it is gone, and what it did is not known. It runs again, as often as interruptions are borne. */
export function planInterruptedRun(run: SagaRun, index: number): SagaChange {
  const step = stepAt(run, index)
  const borne = step.maxAttempts - (run.definition.steps[index]?.retry.max_attempts ?? step.maxAttempts)
  const error = attemptError('run_interrupted', 'the process that ran this step is gone', true)
  const more = borne < INTERRUPTED_RUNS_MAX ? 1 : 0
  const known = { ...step, maxAttempts: step.maxAttempts + more }
  const change = planFailed(
    { ...run, steps: run.steps.map((each) => (each === step ? known : each)) },
    index,
    error,
  )
  // It has waited for a lease to end; it need not wait longer.
  const { release: _, ...kept } = change
  return kept
}

function releaseFor(
  run: SagaRun,
  index: number,
  attempt: number,
  policy: 'retry' | 'compensateRetry',
): Pick<SagaChange, 'release'> {
  const delayMs = delayOf(run, index, attempt, policy)
  return delayMs > 0 ? { release: { wakeInMs: delayMs } } : {}
}
