import type { EventChange, NewSaga, Publication, SagaChange, WakeTime } from '../records.js'
import { attemptError, type SagaError } from '../saga-error.js'
import {
  baseOf,
  delayOf,
  INTERRUPTED_RUNS_MAX,
  sagaEvents,
  stepAt,
  stepChange,
  stepEvents,
} from './change-parts.js'
import { isPastPivot, isSettled, type SagaRun, stepStateNumber } from './saga-run.js'
import { stepInput } from './step-data.js'

/** An attempt that is about to be recorded. */
export interface Beginning {
  readonly index: number
  readonly spanId: string
  /** What the step waits for, if it has no code to call. */
  readonly wait?: {
    readonly topic: string | null
    readonly wake?: WakeTime
    /** The child saga that is started with it. */
    readonly child?: NewSaga
    /** The event that is stored with it. */
    readonly publication?: Publication
  }
}

/** Records the intent before the steps are called, so that a crash in between is detected. */
export function planBegin(run: SagaRun, beginnings: readonly Beginning[]): SagaChange {
  const { state } = run.saga
  const children = beginnings.flatMap(({ wait }) => wait?.child ?? [])
  const publications = beginnings.flatMap(({ wait }) => wait?.publication ?? [])
  const begun = beginnings.map(({ index, spanId, wait }) => {
    const step = stepAt(run, index)
    const change = stepChange(step, {
      state: 'Running',
      attempts: step.attempts + 1,
      error: null,
      started: true,
      ...(step.state === 'Pending' ? { input: stepInput(run, index) } : {}),
      waitsFor: wait?.topic ?? null,
      ...(wait?.wake ? { wake: wait.wake } : {}),
    })
    const data = { attempt: change.attempts, ...(wait?.topic ? { waits_for: wait.topic } : {}) }
    return { change, events: stepEvents(step, 'Running', { spanId, data }) }
  })
  return {
    ...baseOf(run),
    state: 'Running',
    currentStep: Math.min(...beginnings.map(({ index }) => index)),
    started: true,
    ...(children.length > 0 ? { children } : {}),
    ...(publications.length > 0 ? { publications } : {}),
    steps: begun.map(({ change }) => change),
    events: [
      ...(state === 'Running' ? [] : sagaEvents(state, 'Running')),
      ...begun.flatMap(({ events }) => events),
    ],
  }
}

/** The intent of the first step of a saga that is begun with its start. */
export function planFirstRun(spanId: string, coordinator: string): EventChange[] {
  return [
    ...sagaEvents('Pending', 'Running').map((event) => ({ ...event, metadata: { coordinator } })),
    ...stepEvents({ state: 'Pending', index: 0 }, 'Running', { spanId, data: { attempt: 1 } }),
  ]
}

/** The checkpoint after a run. The saga stays Running until its stage is done, and after the last stage. */
export function planCompleted(
  run: SagaRun,
  index: number,
  output: string | undefined,
  spanId?: string,
): SagaChange {
  const step = stepAt(run, index)
  const { steps: definitions } = run.definition
  const open = run.steps.filter((each) => each !== step && !isSettled(each))
  const stageIsDone = open.every((each) => definitions[each.index]?.stage !== definitions[index]?.stage)
  const state = open.length > 0 && stageIsDone ? 'StepCompleted' : 'Running'
  const kept = output === undefined ? {} : { output }
  const span = spanId === undefined ? {} : { spanId }
  return {
    ...baseOf(run),
    state,
    // Only planComplete moves it past the last step.
    currentStep: open[0]?.index ?? index,
    steps: [stepChange(step, { state: 'Completed', error: null, finished: true, ...kept })],
    events: [
      ...stepEvents(step, 'Completed', { ...span, data: { attempt: step.attempts } }),
      ...(state === 'Running' ? [] : sagaEvents('Running', state)),
    ],
  }
}

/** Skips steps that their conditions say are not needed. */
export function planSkip(run: SagaRun, indexes: readonly number[]): SagaChange {
  const { state } = run.saga
  const steps = indexes.map((index) => stepAt(run, index))
  return {
    ...baseOf(run),
    state: 'Running',
    started: true,
    steps: steps.map((step) => stepChange(step, { state: 'Skipped' })),
    events: [
      ...(state === 'Running' ? [] : sagaEvents(state, 'Running')),
      ...steps.flatMap((step) => stepEvents(step, 'Skipped', { data: { cause: 'condition' } })),
    ],
  }
}

/** A failed run and the time of its retry. Past the pivot it is always retried: the saga can only go forward. */
export function planFailed(run: SagaRun, index: number, error: SagaError, spanId?: string): SagaChange {
  const step = stepAt(run, index)
  const left = error.retryable !== false && step.attempts < step.maxAttempts
  const past = isPastPivot(run)
  const again = left || past
  // Past the pivot, retry.exhausted is recorded once.
  const limit = past ? run.definition.steps[index]?.retry.max_attempts : step.attempts
  const exhausted = error.retryable !== false && !left && step.maxAttempts > 1 && step.attempts === limit
  const failed = stepStateNumber('Failed')
  const span = spanId === undefined ? {} : { spanId }
  const delayMs = left
    ? delayOf(run, index, step.attempts, 'retry')
    : (run.definition.steps[index]?.retry.max_interval_ms ?? 0)
  return {
    ...baseOf(run),
    ...(again ? {} : { error }),
    steps: [
      stepChange(step, {
        state: 'Failed',
        error,
        ...(again ? { maxAttempts: Math.max(step.maxAttempts, step.attempts + 1) } : {}),
        ...(again && delayMs > 0 ? { wake: { inMs: delayMs } } : {}),
      }),
    ],
    events: [
      ...stepEvents(step, 'Failed', { error, data: { attempt: step.attempts }, ...span }),
      ...(exhausted
        ? [{ type: 'retry.exhausted', stepIndex: index, oldState: failed, newState: failed } as const]
        : []),
    ],
  }
}

/**
 * The process that ran the step is gone, and the outcome is unknown. The step runs again, up to the limit of
 * interruptions.
 */
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
  // It has already waited for the lease to expire.
  return { ...change, steps: change.steps.map(({ wake: _, ...kept }) => kept) }
}
