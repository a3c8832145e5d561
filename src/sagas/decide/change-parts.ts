import {
  type AuditedMachine,
  type SagaState,
  type SagaStepState,
  sagaMachine,
  sagaStepMachine,
} from '../../model/index.js'
import {
  type EventChange,
  ownEventCount,
  type SagaChange,
  type StepChange,
  type StepRecord,
} from '../records.js'
import { retryDelayMs } from '../retry-policy.js'
import type { SagaRun } from './saga-run.js'

type Extra = Pick<EventChange, 'data' | 'error' | 'spanId'>

/** The events of a legal move, from its state machine. Throws on an illegal move, which is a bug. */
function eventsOf<Status extends string>(
  machine: AuditedMachine<Status>,
  from: Status,
  to: Status,
  stepIndex: number | null,
  extra: Extra = {},
): EventChange[] {
  const move = machine.moves.find((candidate) => candidate.from === from && candidate.to === to)
  if (move === undefined) throw new Error(`there is no move from ${from} to ${to}`)
  const [oldState, newState] = [machine.statuses.indexOf(from), machine.statuses.indexOf(to)]
  return move.events.map((type, place) => ({
    type,
    stepIndex,
    oldState,
    newState: place === move.events.length - 1 ? newState : oldState,
    ...extra,
  }))
}

export const sagaEvents = (from: SagaState, to: SagaState, extra?: Extra) =>
  eventsOf(sagaMachine, from, to, null, extra)

export const stepEvents = (step: Pick<StepRecord, 'state' | 'index'>, to: SagaStepState, extra?: Extra) =>
  eventsOf(sagaStepMachine, step.state, to, step.index, extra)

/** A change with no effect, as the base of others. */
export function baseOf({ saga }: SagaRun): SagaChange {
  return {
    sagaId: saga.id,
    owner: saga.leaseOwner,
    version: saga.version,
    eventsBefore: ownEventCount(saga),
    state: saga.state,
    currentStep: saga.currentStep,
    error: saga.error,
    awaitingOperator: false,
    ...(saga.publishes ? { publishes: true } : {}),
    steps: [],
    events: [],
  }
}

export function stepChange(step: StepRecord, change: Partial<StepChange>): StepChange {
  const { index, state, attempts, maxAttempts, error, compensation, waitsFor } = step
  return { index, state, attempts, maxAttempts, error, compensation, waitsFor, ...change }
}

export function stepAt(run: SagaRun, index: number): StepRecord {
  const step = run.steps[index]
  if (step === undefined) throw new Error(`saga ${run.saga.id} has no step ${index}`)
  return step
}

export function delayOf(
  run: SagaRun,
  index: number,
  attempt: number,
  policy: 'retry' | 'compensateRetry',
): number {
  const definition = run.definition.steps[index]
  if (definition === undefined) return 0
  return retryDelayMs(definition[policy], attempt, `${run.saga.id}:${index}:${policy}:${attempt}`)
}

/** An interrupted run does not use up an attempt, up to this number: a step that kills its process must end as well. */
export const INTERRUPTED_RUNS_MAX = 3
