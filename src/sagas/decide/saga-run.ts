import { type SagaState, type SagaStepState, sagaMachine, sagaStepMachine } from '../../model/index.js'
import type { ReadyContext, SagaDefinition } from '../definition.js'
import type { SagaChange, SagaRecord, Signals, StepChange, StepRecord, WakeTime } from '../records.js'

/** A saga as its holder knows it. Immutable: every write creates the next one. */
export interface SagaRun {
  readonly saga: SagaRecord
  readonly steps: readonly StepRecord[]
  readonly definition: Pick<SagaDefinition, 'steps' | 'compensation' | 'stepsBeforePivot'>
  readonly signals: Signals
}

export const sagaStateNumber = (state: SagaState): number => sagaMachine.statuses.indexOf(state)
export const stepStateNumber = (state: SagaStepState): number => sagaStepMachine.statuses.indexOf(state)

/** The run after a change was written at this moment; when the change is only planned, no time has passed. */
export function applyChange(run: SagaRun, change: SagaChange, moment = run.saga.updatedAt): SagaRun {
  return { ...run, ...applyToRecords(run, change, moment) }
}

/** The step is completed or skipped. */
export function isSettled({ state }: StepRecord): boolean {
  return state === 'Completed' || state === 'Skipped'
}

/** From the pivot on the saga only goes forward: it cannot be stopped, and nothing is undone. */
export function isPastPivot({ steps, definition: { stepsBeforePivot: pivot } }: SagaRun): boolean {
  return pivot !== undefined && steps.every((step) => step.index >= pivot || isSettled(step))
}

/** The context of the step at this index. */
export function contextBefore(run: SagaRun, index: number): ReadyContext<unknown, unknown> {
  const { saga, steps, definition } = run
  const stage = definition.steps[index]?.stage ?? index
  const before = steps.filter(
    (step) => step.output !== undefined && (definition.steps[step.index]?.stage ?? step.index) < stage,
  )
  return {
    sagaId: saga.id,
    input: saga.input,
    outputs: Object.fromEntries(before.map(({ name, output }) => [name, output])),
  }
}

/** Applies everything except the times of the lease and the next wake-up, which the storage sets. */
export function applyToRecords(
  { saga, steps }: { readonly saga: SagaRecord; readonly steps: readonly StepRecord[] },
  change: SagaChange,
  moment: Date,
): { saga: SagaRecord; steps: StepRecord[] } {
  const unfinished = ['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(change.state)
  return {
    saga: {
      ...saga,
      state: change.state,
      currentStep: change.currentStep,
      error: change.error,
      awaitingOperator: change.awaitingOperator,
      result: change.result === undefined ? saga.result : JSON.parse(change.result),
      current: change.current === undefined ? saga.current : JSON.parse(change.current),
      updatedAt: moment,
      startedAt: change.started ? (saga.startedAt ?? moment) : saga.startedAt,
      completedAt: change.finished ? moment : unfinished ? null : saga.completedAt,
      timedOutAt: change.timedOut ? moment : saga.timedOutAt,
      ...(change.release ? { leaseOwner: null, leaseUntil: null, wakeAt: null } : {}),
      pivotedAt: change.pivoted ? (saga.pivotedAt ?? moment) : saga.pivotedAt,
      version: change.version + 1,
      eventCount: saga.eventCount + change.events.length,
    },
    steps: steps.map((step) => {
      const next = change.steps.find(({ index }) => index === step.index)
      return next === undefined ? step : applyToStep(step, next, moment)
    }),
  }
}

function applyToStep(step: StepRecord, next: StepChange, moment: Date): StepRecord {
  const { state, attempts, maxAttempts, error, compensation, started, finished } = next
  return {
    ...step,
    state,
    attempts,
    maxAttempts,
    error,
    compensation,
    input: next.input === undefined ? step.input : JSON.parse(next.input),
    output: next.output === undefined ? step.output : JSON.parse(next.output),
    startedAt: started ? (step.startedAt ?? moment) : step.startedAt,
    lastAttemptAt: started ? moment : step.lastAttemptAt,
    completedAt: finished ? moment : step.completedAt,
    waitsFor: next.waitsFor,
    wakeAt: wakeAtOf(next.wake, moment),
  }
}

function wakeAtOf(wake: WakeTime | undefined, moment: Date): Date | null {
  if (wake === undefined) return null
  return 'at' in wake ? wake.at : new Date(moment.getTime() + wake.inMs)
}
