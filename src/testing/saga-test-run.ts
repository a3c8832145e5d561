import type { SagaState } from '../model/index.js'

// A user's compiler reads this file: it imports nothing that leads to `pg`, whose types may not be installed there.

export interface SagaTestEvent {
  type: string
  /** Undefined for an entry about the saga itself. */
  step: string | undefined
  oldState: string
  newState: string
  data: Record<string, unknown> | null
}

export interface SagaTestRun<Outputs = Record<string, unknown>> {
  id: string
  state: SagaState
  /** The output of the last step, once the saga is Completed. */
  result: unknown
  /** The outputs of the steps, by name. */
  outputs: Partial<Outputs>
  error: { code: string; message: string } | null
  /** The states of its steps, by name: Completed, Compensated, Skipped and so on. */
  steps: Record<string, string>
  /** `reserve`, `undo reserve`: the calls since this run began, in order. */
  calls: string[]
  history: SagaTestEvent[]
  /** How often the coordinator wrote since this run began: a crash can be before or after each write. */
  writes: number
  /** The total time waited, by the test's clock. */
  waitedMs: number
}
