import type { StepDefinition } from '../definition.js'
import type { StepRecord } from '../records.js'
import { contextBefore, isPastPivot, isSettled, type SagaRun } from './saga-run.js'

export type CompensationCause = 'failed' | 'cancelled' | 'timed_out'

export type Action =
  /** The conditions of these steps say that they are not needed. */
  | { readonly do: 'skip'; readonly indexes: readonly number[] }
  | { readonly do: 'begin'; readonly indexes: readonly number[] }
  /** These steps wait for a time or for news, and nothing else can be done meanwhile. */
  | { readonly do: 'wait'; readonly indexes: readonly number[] }
  /** The row says Running, but no process runs it: the process that did is gone. */
  | { readonly do: 'note_interrupted_run'; readonly index: number }
  | { readonly do: 'note_interrupted_undo'; readonly index: number }
  | { readonly do: 'compensate'; readonly cause: CompensationCause }
  | { readonly do: 'undo'; readonly indexes: readonly number[] }
  | { readonly do: 'complete' }
  /** All steps are done; the parent decides whether they stay done. */
  | { readonly do: 'await_parent' }
  | { readonly do: 'end'; readonly state: 'Compensated' | 'Cancelled' | 'TimedOut' | 'Failed' }
  | { readonly do: 'nothing' }

export interface Moment {
  /** Steps whose code runs in this process. */
  readonly active?: ReadonlyMap<number, unknown>
  /** By the storage's clock; default: the time of the last write or claim. */
  readonly now?: Date
}

/**
 * Decides what comes next for a saga: a pure function of its rows and its signals. It is called after every write and,
 * after a crash, by the coordinator that takes over; there is no other state.
 */
export function decideNext(run: SagaRun, moment: Moment = {}): Action {
  const { saga, steps, signals } = run
  switch (saga.state) {
    case 'Pending':
      if (signals.cancelRequested) return { do: 'end', state: 'Cancelled' }
      if (signals.overdue) return { do: 'end', state: 'TimedOut' }
      return decideForward(run, moment)
    case 'Running':
    case 'StepCompleted':
      return decideForward(run, moment)
    case 'Compensating': {
      const interrupted = steps.find(
        (step) => isUnderWay(step) && run.definition.steps[step.index]?.kind !== 'saga',
      )
      if (interrupted) return { do: 'note_interrupted_undo', index: interrupted.index }
      return decideBackward(run, moment)
    }
    default:
      return { do: 'nothing' }
  }
}

function decideForward(run: SagaRun, { active, now = run.saga.updatedAt }: Moment): Action {
  const { saga, steps, signals, definition } = run
  const running = steps.find(
    (step) =>
      step.state === 'Running' && !active?.has(step.index) && !isWaiting(step, definition.steps[step.index]),
  )
  if (running) return { do: 'note_interrupted_run', index: running.index }
  const free = !isPastPivot(run)
  if (free && signals.cancelRequested) return { do: 'compensate', cause: 'cancelled' }
  const open = steps.find((step) => !isSettled(step))
  if (open === undefined) {
    const done = saga.parentId !== null && saga.currentStep >= saga.totalSteps
    return { do: done ? 'await_parent' : 'complete' }
  }
  if (free && signals.overdue) return { do: 'compensate', cause: 'timed_out' }
  const stage = stageOf(run, open).filter((step) => !isSettled(step))
  if (free && stage.some((step) => step.state === 'Failed' && !mayRunAgain(step))) {
    return { do: 'compensate', cause: 'failed' }
  }
  const skipped = stage.filter((step) => step.state === 'Pending' && isUnwanted(run, step))
  if (skipped.length > 0) return { do: 'skip', indexes: indexesOf(skipped) }
  const due = stage.filter(
    (step) => step.state === 'Pending' || (step.state === 'Failed' && isDue(step, now)),
  )
  return { do: due.length > 0 ? 'begin' : 'wait', indexes: indexesOf(due.length > 0 ? due : stage) }
}

function decideBackward(run: SagaRun, { now = run.saga.updatedAt }: Moment): Action {
  const { saga, steps, definition, signals } = run
  const gaveUp = steps.filter(hasGivenUp)
  const open = steps.filter((step) => mustBeUndone(step, definition.steps[step.index])).reverse()
  const turn = gaveUp.length > 0 && definition.compensation === 'reverse' ? gaveUp[0] : open[0]
  const together =
    turn === undefined || definition.compensation === 'parallel'
      ? open
      : open.filter((step) => stageOf(run, turn).includes(step))
  if (together.length > 0) {
    const due = together.filter((step) => !isUnderWay(step) && !isPaused(step, now))
    return { do: due.length > 0 ? 'undo' : 'wait', indexes: indexesOf(due.length > 0 ? due : together) }
  }
  if (gaveUp.length > 0) return { do: 'end', state: 'Failed' }
  // A cancel is accepted only before anything is undone, so if there is one, it is the cause.
  if (saga.timedOutAt !== null) return { do: 'end', state: 'TimedOut' }
  return { do: 'end', state: signals.cancelRequested ? 'Cancelled' : 'Compensated' }
}

const indexesOf = (steps: readonly StepRecord[]) => steps.map(({ index }) => index)

function stageOf({ steps, definition }: SagaRun, { index }: StepRecord): StepRecord[] {
  const stage = definition.steps[index]?.stage
  return steps.filter((step) => definition.steps[step.index]?.stage === stage)
}

/** A step whose condition throws is begun, and fails. */
function isUnwanted(run: SagaRun, { index }: StepRecord): boolean {
  const when = run.definition.steps[index]?.when
  try {
    return when !== undefined && !when(contextBefore(run, index) as never)
  } catch {
    return false
  }
}

/** Its row says what it waits for, so no process needs to run it. */
function isWaiting(step: StepRecord, definition: StepDefinition | undefined): boolean {
  if (definition?.kind === 'step' || definition?.kind === 'transaction') return false
  return step.waitsFor !== null || step.wakeAt !== null
}

function isDue({ wakeAt }: StepRecord, now: Date): boolean {
  return wakeAt === null || wakeAt <= now
}

/** Its undo failed and has a pause before the retry. The pause before a retry of its run does not delay an undo. */
function isPaused(step: StepRecord, now: Date): boolean {
  return step.state === 'Compensating' && !isDue(step, now)
}

function mayRunAgain(step: StepRecord): boolean {
  return step.error?.retryable !== false && step.attempts < step.maxAttempts
}

/** Its undo has begun, and its end was not recorded. */
function isUnderWay(step: StepRecord): boolean {
  return step.state === 'Compensating' && step.compensation?.state === 4
}

/** Its undo failed for good and needs an operator. */
function hasGivenUp(step: StepRecord): boolean {
  return step.state === 'Failed' && step.compensation?.state === 3
}

function mustBeUndone(step: StepRecord, definition: StepDefinition | undefined): boolean {
  const child = definition?.kind === 'saga' && step.waitsFor !== null
  if (definition?.compensate === undefined && !child) return false
  if (step.state === 'Completed' || step.state === 'Compensating') return true
  if (step.state !== 'Failed') return false
  if (step.compensation !== null) return step.compensation.state === 0
  // A failed run may have had effects, unless it ran in a transaction or was never called.
  const neverCalled = step.attempts === 1 && step.error?.code === 'run_not_called'
  const doubtful = definition?.kind === 'step' || definition?.kind === 'delivery'
  return child || (doubtful && !neverCalled)
}
