import type { SagaChange } from '../records.js'
import { applyChange, type SagaRun } from './saga-run.js'
import { currentData } from './step-data.js'

/**
 * Adds what readers of the tables see to a holder's change: its steps' outputs when the saga begins to wait or ends
 * [G1], and in its first entry under this lease, the holder [G3].
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
