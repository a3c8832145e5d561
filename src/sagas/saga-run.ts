import { type SagaState, type SagaStepState, sagaMachine, sagaStepMachine } from '../state-machines/index.js'
import type { SagaDefinition } from './definition.js'
import type { SagaChange, SagaRecord, Signals, StepRecord } from './records.js'

/** A saga as its holder knows it. Never changed: every write makes the next one. */
export interface SagaRun {
  readonly saga: SagaRecord
  readonly steps: readonly StepRecord[]
  readonly definition: Pick<SagaDefinition, 'steps' | 'compensation'>
  readonly signals: Signals
}

export const sagaStateNumber = (state: SagaState): number => sagaMachine.statuses.indexOf(state)
export const stepStateNumber = (state: SagaStepState): number => sagaStepMachine.statuses.indexOf(state)

/** The run after the change has been written; times are the storage's business and stay as they were. */
export function applyChange(run: SagaRun, change: SagaChange): SagaRun {
  return { ...run, ...applyToRecords(run, change) }
}

export function applyToRecords(
  { saga, steps }: { readonly saga: SagaRecord; readonly steps: readonly StepRecord[] },
  change: SagaChange,
): { saga: SagaRecord; steps: StepRecord[] } {
  return {
    saga: {
      ...saga,
      state: change.state,
      currentStep: change.currentStep,
      error: change.error,
      awaitingOperator: change.awaitingOperator,
      result: change.result === undefined ? saga.result : JSON.parse(change.result),
      timedOutAt: change.timedOut ? (saga.timedOutAt ?? new Date()) : saga.timedOutAt,
      leaseOwner: change.release ? null : saga.leaseOwner,
      version: change.version + 1,
      eventCount: saga.eventCount + change.events.length,
    },
    steps: steps.map((step) => {
      const next = change.steps.find(({ index }) => index === step.index)
      if (next === undefined) return step
      const { state, attempts, maxAttempts, error, compensation } = next
      const output = next.output === undefined ? step.output : JSON.parse(next.output)
      return { ...step, state, attempts, maxAttempts, error, compensation, output }
    }),
  }
}
