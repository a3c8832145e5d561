export { annotateChange } from './annotate-change.js'
export { baseOf } from './change-parts.js'
export { type Action, decideNext, type Moment } from './decide-next.js'
export { joinChanges, notePivot } from './join-changes.js'
export { newRecord, newSteps } from './new-records.js'
export { planCompensation, planComplete, planEnd, planRelease, planSetAside, planWait } from './plan-ends.js'
export { planResolution, planUnstartedCancel, type Resolution, stuckWaits } from './plan-resolution.js'
export {
  type Beginning,
  planBegin,
  planCompleted,
  planFailed,
  planFirstRun,
  planInterruptedRun,
  planSkip,
} from './plan-runs.js'
export { planInterruptedUndo, planUndo, planUndoFailed, planUndone } from './plan-undos.js'
export {
  applyChange,
  applyToRecords,
  contextBefore,
  isPastPivot,
  type SagaRun,
  sagaStateNumber,
  stepStateNumber,
} from './saga-run.js'
export { firstInput } from './step-data.js'
export type { StuckWait } from './stuck-wait.js'
