import type { EventChange, SagaChange, StepRecord } from '../records.js'
import { attemptError, type SagaError } from '../saga-error.js'
import { baseOf, delayOf, INTERRUPTED_RUNS_MAX, stepAt, stepChange, stepEvents } from './change-parts.js'
import { type SagaRun, stepStateNumber } from './saga-run.js'

/** Records the intent to undo one step or, in parallel, several. */
export function planUndo(run: SagaRun, indexes: readonly number[], spanId: string): SagaChange {
  const changes = indexes.map((index) => {
    const step = stepAt(run, index)
    const max = run.definition.steps[index]?.compensateRetry.max_attempts ?? 1
    const before = step.compensation ?? { attempts: 0, max_attempts: max, attempts_per_round: max }
    const compensation = {
      state: 4 as const,
      attempts: before.attempts + 1,
      max_attempts: before.max_attempts,
      attempts_per_round: before.attempts_per_round,
      interrupted: step.compensation?.interrupted ?? 0,
      started_at: step.compensation?.started_at ?? new Date().toISOString(),
      completed_at: null,
      error: null,
    }
    const extra = { spanId, data: { attempt: compensation.attempts } }
    const again = { type: 'retry.attempted', stepIndex: index, oldState: 4, newState: 4, ...extra } as const
    const events: EventChange[] =
      step.state === 'Compensating'
        ? [again, { ...again, type: 'compensation.step.started' }]
        : stepEvents(step, 'Compensating', extra)
    return { step: stepChange(step, { state: 'Compensating', compensation }), events }
  })
  return {
    ...baseOf(run),
    currentStep: Math.max(...indexes),
    steps: changes.map(({ step }) => step),
    events: changes.flatMap(({ events }) => events),
  }
}

export function planUndone(run: SagaRun, index: number, spanId?: string): SagaChange {
  const step = stepAt(run, index)
  const completed_at = new Date().toISOString()
  const compensation = { ...compensationOf(step), state: 5 as const, completed_at, error: null }
  return {
    ...baseOf(run),
    steps: [stepChange(step, { state: 'Compensated', compensation })],
    events: stepEvents(step, 'Compensated', {
      ...(spanId === undefined ? {} : { spanId }),
      data: { attempt: compensation.attempts },
    }),
  }
}

/** A failed undo: retried after a pause, or given up. */
export function planUndoFailed(run: SagaRun, index: number, error: SagaError, spanId?: string): SagaChange {
  const step = stepAt(run, index)
  const before = compensationOf(step)
  const again = mayUndoAgain(step, error)
  const exhausted = error.retryable !== false && !again && before.attempts_per_round > 1
  const extra = { error, data: { attempt: before.attempts }, ...(spanId === undefined ? {} : { spanId }) }
  const compensation = { ...before, state: 3 as const, error }
  const [compensating, failed] = [stepStateNumber('Compensating'), stepStateNumber('Failed')]
  if (again) {
    const delayMs = delayOf(run, index, before.attempts, 'compensateRetry')
    const pause = delayMs > 0 ? { wake: { inMs: delayMs } } : {}
    return {
      ...baseOf(run),
      steps: [stepChange(step, { compensation, ...pause })],
      events: [
        {
          type: 'compensation.step.failed',
          stepIndex: index,
          oldState: compensating,
          newState: compensating,
          ...extra,
        },
      ],
    }
  }
  return {
    ...baseOf(run),
    steps: [stepChange(step, { state: 'Failed', compensation })],
    events: [
      ...stepEvents(step, 'Failed', extra),
      ...(exhausted
        ? [{ type: 'retry.exhausted', stepIndex: index, oldState: failed, newState: failed } as const]
        : []),
    ],
  }
}

/**
 * The process that ran the undo is gone. As with runs, a limited number of interruptions does not count as attempts.
 */
export function planInterruptedUndo(run: SagaRun, index: number): SagaChange {
  const step = stepAt(run, index)
  const compensation = compensationOf(step)
  const { interrupted = 0, max_attempts: max } = compensation
  const borne = interrupted < INTERRUPTED_RUNS_MAX ? 1 : 0
  const counted = { interrupted: interrupted + 1, max_attempts: max + borne }
  const known = { ...step, compensation: { ...compensation, ...counted } }
  const error = attemptError('run_interrupted', 'the process that undid this step is gone', true)
  const change = planUndoFailed(
    { ...run, steps: run.steps.map((each) => (each === step ? known : each)) },
    index,
    error,
  )
  // As with a run, it has already waited for the lease to expire.
  return { ...change, steps: change.steps.map(({ wake: _, ...kept }) => kept) }
}

function mayUndoAgain(step: StepRecord, error: SagaError): boolean {
  const { attempts, max_attempts: max } = compensationOf(step)
  return error.retryable !== false && attempts < max
}

export function compensationOf(step: StepRecord): NonNullable<StepRecord['compensation']> {
  if (step.compensation === null) throw new Error(`step ${step.id} is not being undone`)
  return step.compensation
}
