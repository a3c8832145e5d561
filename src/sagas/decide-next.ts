import type { StepRecord } from './records.js'
import type { SagaRun } from './saga-run.js'

export type CompensationCause = 'failed' | 'cancelled' | 'timed_out'

export type Action =
  | { readonly do: 'run_step'; readonly index: number }
  /** The row says that it runs, and nobody runs it: whoever did is gone. */
  | { readonly do: 'note_interrupted_run'; readonly index: number }
  | { readonly do: 'note_interrupted_undo'; readonly index: number }
  | { readonly do: 'compensate'; readonly cause: CompensationCause }
  | { readonly do: 'undo'; readonly indexes: readonly number[] }
  | { readonly do: 'end'; readonly state: 'Compensated' | 'Cancelled' | 'TimedOut' | 'Failed' }
  | { readonly do: 'nothing' }

/**
 * What comes next for a saga that nothing is running for at the moment: a pure function of its rows and of what others
 * have said. It is asked after every write, and after a crash by whoever takes over: there is no other memory.
 */
export function decideNext(run: SagaRun): Action {
  const { saga, steps, signals } = run
  switch (saga.state) {
    case 'Pending':
      if (signals.cancelRequested) return { do: 'end', state: 'Cancelled' }
      if (signals.overdue) return { do: 'end', state: 'TimedOut' }
      return { do: 'run_step', index: 0 }
    case 'Running':
    case 'StepCompleted':
      return decideForward(run)
    case 'Compensating': {
      const interrupted = steps.find(
        (step) => step.state === 'Compensating' && step.compensation?.state === 4,
      )
      if (interrupted) return { do: 'note_interrupted_undo', index: interrupted.index }
      return decideBackward(run)
    }
    default:
      return { do: 'nothing' }
  }
}

function decideForward({ steps, signals }: SagaRun): Action {
  const running = steps.find((step) => step.state === 'Running')
  if (running) return { do: 'note_interrupted_run', index: running.index }
  if (signals.cancelRequested) return { do: 'compensate', cause: 'cancelled' }
  if (signals.overdue) return { do: 'compensate', cause: 'timed_out' }
  const next = steps.find((step) => step.state === 'Failed' || step.state === 'Pending')
  // The last step completes its saga in the same write, so that there always is a next one.
  if (next === undefined) return { do: 'nothing' }
  if (next.state === 'Failed' && !mayRunAgain(next)) return { do: 'compensate', cause: 'failed' }
  return { do: 'run_step', index: next.index }
}

function decideBackward({ saga, steps, definition, signals }: SagaRun): Action {
  const gaveUp = steps.some(hasGivenUp)
  if (gaveUp && definition.compensation === 'reverse') return { do: 'end', state: 'Failed' }
  const open = steps
    .filter((step) => mustBeUndone(step, definition.steps[step.index]))
    .map(({ index }) => index)
    .reverse()
  if (open.length > 0) {
    return { do: 'undo', indexes: definition.compensation === 'parallel' ? open : open.slice(0, 1) }
  }
  if (gaveUp) return { do: 'end', state: 'Failed' }
  // A cancel is taken up only before anything is undone, so it is the cause if it is there.
  if (saga.timedOutAt !== null) return { do: 'end', state: 'TimedOut' }
  return { do: 'end', state: signals.cancelRequested ? 'Cancelled' : 'Compensated' }
}

function mayRunAgain(step: StepRecord): boolean {
  return step.error?.retryable !== false && step.attempts < step.maxAttempts
}

/** The undo failed for good; an operator is waited for. */
function hasGivenUp(step: StepRecord): boolean {
  return step.state === 'Failed' && step.compensation?.state === 3
}

function mustBeUndone(
  step: StepRecord,
  definition: SagaRun['definition']['steps'][number] | undefined,
): boolean {
  if (definition?.compensate === undefined) return false
  if (step.state === 'Completed' || step.state === 'Compensating') return true
  if (step.state !== 'Failed') return false
  if (step.compensation !== null) return step.compensation.state === 0
  // A failed run may have done something; one in a transaction, or that was never called, has not.
  const neverCalled = step.attempts === 1 && step.error?.code === 'run_not_called'
  return definition.kind === 'step' && !neverCalled
}
