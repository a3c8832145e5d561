import type { SagaChange } from '../records.js'
import { applyChange, type SagaRun } from './saga-run.js'
import { currentData } from './step-data.js'

/**
 * A change of a saga's holder with what is kept for those who look on: what its steps have returned, where it begins to
 * wait or ends [G1], and in the first entry since it was taken, who holds it [G3].
 */
export function annotateChange(run: SagaRun, change: SagaChange, isFirst: boolean): SagaChange {
  const current = change.release && currentData(applyChange(run, change).steps)
  const [first, ...others] = change.events
  const named = isFirst && first && { ...first, metadata: { coordinator: change.owner } }
  return {
    ...change,
    ...(current === undefined ? {} : { current }),
    ...(named ? { events: [named, ...others] } : {}),
  }
}
