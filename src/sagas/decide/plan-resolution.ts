import type { SagaChange, StepRecord } from '../records.js'
import { sagaTopic } from '../topics.js'
import { baseOf, sagaEvents, stepChange, stepEvents } from './change-parts.js'
import { planEnd } from './plan-ends.js'
import { compensationOf } from './plan-undos.js'
import { type SagaRun, sagaStateNumber } from './saga-run.js'

export interface Resolution {
  readonly action: 'retry' | 'skip' | 'resolve'
  readonly by: string
  readonly why: string
}

/** The waits of a saga that only an operator can end: see planWait. */
export function stuckWaits(steps: readonly StepRecord[]): StepRecord[] {
  return steps.filter(
    ({ state, waitsFor, error }) => state === 'Running' && waitsFor !== null && error !== null,
  )
}

/** Applies an operator's resolution to a saga whose undo failed, or (`skip`) that waits for news that will not come. */
export function planResolution(
  { saga, steps }: Pick<SagaRun, 'saga' | 'steps'>,
  resolution: Resolution,
): SagaChange {
  const run = { saga, steps, definition: noDefinition, signals: never } as const
  const data = { ...resolution }
  const failed = sagaStateNumber('Failed')
  const base = { ...baseOf(run), owner: null }
  if (resolution.action === 'resolve') {
    const events = [
      { type: 'state.changed', stepIndex: null, oldState: failed, newState: failed, data },
    ] as const
    // Its children wait for its end.
    return { ...base, release: { wakeInMs: null }, wakes: [sagaTopic(saga.id)], events }
  }
  if (saga.state === 'Running') {
    const waits = stuckWaits(steps)
    return {
      ...base,
      release: { wakeInMs: 0 },
      steps: waits.map((step) => stepChange(step, { state: 'Skipped' })),
      events: waits.flatMap((step) => stepEvents(step, 'Skipped', { data })),
    }
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

/** The cancelled end of a saga of which no step was begun, as a coordinator would write it; needs no definition. */
export function planUnstartedCancel({ saga, steps }: Pick<SagaRun, 'saga' | 'steps'>): SagaChange {
  return planEnd({ saga, steps, definition: noDefinition, signals: never }, 'Cancelled')
}

const noDefinition = { steps: [], compensation: 'reverse' } as const
const never = { cancelRequested: false, overdue: false } as const

function anotherRound(step: StepRecord): StepRecord['compensation'] {
  const before = compensationOf(step)
  return { ...before, state: 0, max_attempts: before.attempts + before.attempts_per_round, interrupted: 0 }
}
