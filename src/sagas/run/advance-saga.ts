import {
  type Action,
  applyChange,
  decideNext,
  joinChanges,
  type Moment,
  notePivot,
  planBegin,
  planComplete,
  planSkip,
  type SagaRun,
} from '../decide/index.js'
import type { Release, SagaChange } from '../records.js'
import type { Begun, HeldSaga } from './held-saga.js'
import { prepareBeginnings } from './prepare-beginnings.js'

export interface Advance {
  readonly change: SagaChange
  /** The attempts to call after the write. */
  readonly begun: readonly Begun[]
}

/**
 * A change together with everything that follows at once: unneeded steps, the intent of the next steps, the end. It is
 * one write, as long as each step and the saga make one legal move. When nothing is left to call, the same write
 * releases the saga.
 */
export async function advanceSaga(
  held: HeldSaga,
  first: SagaChange,
  moment: Moment,
  isStopping: () => boolean,
): Promise<Advance> {
  const before = held.run
  let change = first
  const at = moment.now ?? before.saga.updatedAt
  let run = applyChange(before, first, at)
  let begun: readonly Begun[] = []
  let action = decideNext(run, moment)
  const add = (second: SagaChange) => {
    change = joinChanges(before, change, second)
    run = applyChange(run, second, at)
    action = decideNext(run, { ...moment, active: new Map([...(moment.active ?? []), ...entries(begun)]) })
  }
  while (action.do === 'skip') add(planSkip(run, action.indexes))
  if (action.do === 'complete' && before.saga.state === 'Running') {
    add(planComplete(run))
    return { change: notePivot(change, run), begun }
  }
  if (action.do === 'begin' && isUntouched(change, action) && !isStopping()) {
    const beginnings = await prepareBeginnings(run, action.indexes)
    begun = beginnings.filter(({ wait }) => wait === undefined)
    // There can be no news yet of what begins with this write. An event that is awaited again was published earlier.
    for (const { index, wait } of beginnings) {
      if (wait?.child || (wait?.publication && run.steps[index]?.attempts === 0)) held.looked.add(index)
      else held.looked.delete(index)
    }
    add(planBegin(run, beginnings))
  }
  const idle = begun.length === 0 && (moment.active?.size ?? 0) === 0
  if (idle && action.do === 'wait' && action.indexes.every((index) => !mustLook(held, run, index))) {
    change = { ...change, release: releaseUntil(run, action.indexes, change) }
  }
  return { change: notePivot(change, run), begun }
}

/** No step makes two moves in one write. */
function isUntouched({ steps }: SagaChange, { indexes }: Extract<Action, { indexes: unknown }>): boolean {
  return !steps.some(({ index }) => indexes.includes(index))
}

/** The step waits for news, and its topic was not looked up since the wait began or the saga was taken. */
function mustLook({ looked }: HeldSaga, { steps }: SagaRun, index: number): boolean {
  const step = steps[index]
  const waits = step?.state === 'Running' || step?.state === 'Compensating'
  return waits && step.waitsFor !== null && !looked.has(index)
}

/** Releases until the first of these steps is due. Delays that this write sets count from the moment of the write. */
export function releaseUntil(run: SagaRun, indexes: readonly number[], change?: SagaChange): Release {
  let wakeInMs: number | null = null
  let wakeAtMs = Number.POSITIVE_INFINITY
  for (const index of indexes) {
    const written = change?.steps.findLast((step) => step.index === index)?.wake
    if (written && 'inMs' in written) wakeInMs = Math.min(written.inMs, wakeInMs ?? written.inMs)
    else wakeAtMs = Math.min(wakeAtMs, run.steps[index]?.wakeAt?.getTime() ?? Number.POSITIVE_INFINITY)
  }
  return { wakeInMs, ...(Number.isFinite(wakeAtMs) ? { wakeAt: new Date(wakeAtMs) } : {}) }
}

const entries = (begun: readonly Begun[]) => begun.map(({ index }) => [index, true] as const)
