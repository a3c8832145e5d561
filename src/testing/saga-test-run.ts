import type { SagaState } from '../model/index.js'

// A user's compiler reads this file: it imports nothing that leads to `pg`, whose types may not be installed there.

export interface SagaTestEvent {
  type: string
  /** Undefined: it is about the saga itself. */
  step: string | undefined
  oldState: string
  newState: string
  data: Record<string, unknown> | null
}

export interface SagaTestRun<Outputs = Record<string, unknown>> {
  id: string
  state: SagaState
  /** What the last step returned, once it is Completed. */
  result: unknown
  /** What the steps returned, by their names. */
  outputs: Partial<Outputs>
  error: { code: string; message: string } | null
  /** Of its steps, by their names: Completed, Compensated, Skipped and so on. */
  steps: Record<string, string>
  /** `reserve`, `undo reserve`: what was called since this run began, in this order. */
  calls: string[]
  history: SagaTestEvent[]
  /** How often the coordinator wrote since this run began: a crash can be before or after each of them. */
  writes: number
  /** How long all of it would have waited, by the test's clock. */
  waitedMs: number
}
