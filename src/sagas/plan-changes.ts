import {
  type AuditedMachine,
  type SagaState,
  type SagaStepState,
  sagaMachine,
  sagaStepMachine,
} from '../state-machines/index.js'
import type { CompensationCause } from './decide-next.js'
import type { EventChange, SagaChange, StepChange, StepRecord } from './records.js'
import { retryDelayMs } from './retry-policy.js'
import { attemptError, type SagaError } from './saga-error.js'
import { type SagaRun, sagaStateNumber, stepStateNumber } from './saga-run.js'

/** A run that was interrupted does not use up an attempt, so often; a step that kills its process ends all the same. */
const INTERRUPTED_RUNS_MAX = 3

type Extra = Pick<EventChange, 'data' | 'error' | 'spanId'>

/** The events of a legal move, as its machine has them. A move that is not there is a bug, and thrown. */
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

const sagaEvents = (from: SagaState, to: SagaState, extra?: Extra) =>
  eventsOf(sagaMachine, from, to, null, extra)
const stepEvents = (step: StepRecord, to: SagaStepState, extra?: Extra) =>
  eventsOf(sagaStepMachine, step.state, to, step.index, extra)

/** A change that changes nothing yet. */
function baseOf({ saga }: SagaRun): SagaChange {
  return {
    sagaId: saga.id,
    owner: saga.leaseOwner,
    version: saga.version,
    state: saga.state,
    currentStep: saga.currentStep,
    error: saga.error,
    awaitingOperator: false,
    steps: [],
    events: [],
  }
}

function stepChange(step: StepRecord, change: Partial<StepChange>): StepChange {
  const { index, state, attempts, maxAttempts, error, compensation } = step
  return { index, state, attempts, maxAttempts, error, compensation, ...change }
}

function stepAt(run: SagaRun, index: number): StepRecord {
  const step = run.steps[index]
  if (step === undefined) throw new Error(`saga ${run.saga.id} has no step ${index}`)
  return step
}

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

/** The intent of undoing one step or, in parallel, several. */
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

export function planUndone(run: SagaRun, index: number, spanId: string): SagaChange {
  const step = stepAt(run, index)
  const { error: _, ...before } = compensationOf(step)
  const compensation = { ...before, state: 5 as const, completed_at: new Date().toISOString() }
  return {
    ...baseOf(run),
    steps: [stepChange(step, { state: 'Compensated', compensation })],
    events: stepEvents(step, 'Compensated', { spanId, data: { attempt: compensation.attempts } }),
  }
}

/** A failed undo: tried again (`wakeInMs` when that is later), or given up. */
export function planUndoFailed(run: SagaRun, index: number, error: SagaError, spanId?: string): SagaChange {
  const step = stepAt(run, index)
  const before = compensationOf(step)
  const again = mayUndoAgain(step, error)
  const exhausted = error.retryable !== false && !again && before.attempts_per_round > 1
  const extra = { error, data: { attempt: before.attempts }, ...(spanId === undefined ? {} : { spanId }) }
  const compensation = { ...before, state: 3 as const, error }
  const [compensating, failed] = [stepStateNumber('Compensating'), stepStateNumber('Failed')]
  if (again) {
    return {
      ...baseOf(run),
      steps: [stepChange(step, { compensation })],
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

/** Whoever undid it is gone. As with runs, it is not held against the step, so often. */
export function planInterruptedUndo(run: SagaRun, index: number): SagaChange {
  const step = stepAt(run, index)
  const compensation = compensationOf(step)
  const { interrupted = 0, max_attempts: max } = compensation
  const borne = interrupted < INTERRUPTED_RUNS_MAX ? 1 : 0
  const counted = { interrupted: interrupted + 1, max_attempts: max + borne }
  const known = { ...step, compensation: { ...compensation, ...counted } }
  const error = attemptError('run_interrupted', 'the process that undid this step is gone', true)
  return planUndoFailed(
    { ...run, steps: run.steps.map((each) => (each === step ? known : each)) },
    index,
    error,
  )
}

export function mayUndoAgain(step: StepRecord, error: SagaError): boolean {
  const { attempts, max_attempts: max } = compensationOf(step)
  return error.retryable !== false && attempts < max
}

function compensationOf(step: StepRecord): NonNullable<StepRecord['compensation']> {
  if (step.compensation === null) throw new Error(`step ${step.id} is not being undone`)
  return step.compensation
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

function releaseFor(
  run: SagaRun,
  index: number,
  attempt: number,
  policy: 'retry' | 'compensateRetry',
): Pick<SagaChange, 'release'> {
  const delayMs = delayOf(run, index, attempt, policy)
  return delayMs > 0 ? { release: { wakeInMs: delayMs } } : {}
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

/** Two changes as one write: the second was planned for the run as it is after the first. */
export function joinChanges(first: SagaChange, second: SagaChange): SagaChange {
  const { result = first.result, started = first.started, finished = first.finished } = second
  return {
    ...second,
    version: first.version,
    ...(result === undefined ? {} : { result }),
    ...(started === undefined ? {} : { started }),
    ...(finished === undefined ? {} : { finished }),
    steps: [...first.steps, ...second.steps],
    events: [...first.events, ...second.events],
  }
}

export interface Resolution {
  readonly action: 'retry' | 'skip' | 'resolve'
  readonly by: string
  readonly why: string
}

/** An operator's word on a saga whose undo failed. */
export function planResolution(
  { saga, steps }: Pick<SagaRun, 'saga' | 'steps'>,
  resolution: Resolution,
): SagaChange {
  const run = { saga, steps, definition: { steps: [], compensation: 'reverse' }, signals: never } as const
  const data = { ...resolution }
  const failed = sagaStateNumber('Failed')
  const base = { ...baseOf(run), owner: null }
  if (resolution.action === 'resolve') {
    const events = [
      { type: 'state.changed', stepIndex: null, oldState: failed, newState: failed, data },
    ] as const
    return { ...base, release: { wakeInMs: null }, events }
  }
  const stuck = steps.filter((step) => step.state === 'Failed' && step.compensation?.state === 3)
  const skip = resolution.action === 'skip'
  return {
    ...base,
    state: 'Compensating',
    release: { wakeInMs: 0 },
    steps: stuck.map((step) =>
      skip ? stepChange(step, { state: 'Skipped' }) : stepChange(step, { compensation: anotherRound(step) }),
    ),
    events: [
      ...sagaEvents('Failed', 'Compensating', { data }),
      ...(skip ? stuck.flatMap((step) => stepEvents(step, 'Skipped', { data })) : []),
    ],
  }
}

const never = { cancelRequested: false, overdue: false } as const

function anotherRound(step: StepRecord): StepRecord['compensation'] {
  const before = compensationOf(step)
  return { ...before, state: 0, max_attempts: before.attempts + before.attempts_per_round, interrupted: 0 }
}
