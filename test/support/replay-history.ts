import { type SagaState, type SagaStepState, sagaMachine, sagaStepMachine } from '../../src/model/index.js'
import type { SagaEventRecord } from '../../src/sagas/index.js'
import { isLegalMove } from './is-legal-move.js'

export interface ReplayedSaga {
  readonly state: SagaState
  readonly steps: readonly ReplayedStep[]
}

interface ReplayedStep {
  readonly state: SagaStepState
  readonly attempts: number
  readonly compensationAttempts: number
}

/** The history does not hold together: a number is missing, a state does not follow from the one before. */
class HistoryBrokenError extends Error {
  override readonly name = 'HistoryBrokenError'
}

/**
 * The state of a saga and of its steps as its history alone tells it. Throws when the history has a gap, or a move that
 * is not legal: what comes out must be what stands in the rows.
 */
export function replayHistory(events: readonly SagaEventRecord[], totalSteps: number): ReplayedSaga {
  let state: SagaState = sagaMachine.initial
  const steps = Array.from({ length: totalSteps }, () => ({
    state: sagaStepMachine.initial as SagaStepState,
    attempts: 0,
    compensationAttempts: 0,
  }))
  for (const [place, event] of events.entries()) {
    const at = `event ${event.sequence} (${event.type})`
    if (event.sequence !== place + 1) throw new HistoryBrokenError(`${at} stands at place ${place + 1}`)
    if (event.stepIndex === null) {
      state = follow(sagaMachine, state, event, at)
      continue
    }
    const step = steps[event.stepIndex]
    if (step === undefined) throw new HistoryBrokenError(`${at} is about a step that is not there`)
    step.state = follow(sagaStepMachine, step.state, event, at)
    if (event.type === 'saga.step.started') step.attempts++
    if (event.type === 'compensation.step.started') step.compensationAttempts++
  }
  return { state, steps }
}

function follow<Status extends string>(
  machine: Parameters<typeof isLegalMove<Status>>[0],
  before: Status,
  { oldState, newState }: SagaEventRecord,
  at: string,
): Status {
  const [from, to] = [machine.statuses[oldState], machine.statuses[newState]]
  if (from !== before) throw new HistoryBrokenError(`${at} leaves ${from}, but the state was ${before}`)
  if (to === undefined || (from !== to && !isLegalMove(machine, before, to))) {
    throw new HistoryBrokenError(`${at} makes a move from ${from} to ${to}`)
  }
  return to
}
