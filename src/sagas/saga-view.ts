import type { SagaEventType, SagaState, SagaStepState } from '../model/index.js'

// What operators see of sagas, over HTTP and in TypeScript: names instead of the schema's numbers.

/** What went wrong. */
export interface SagaFailure {
  code: string
  message: string
  type: string | null
  retryable: boolean | null
  timestamp: string | null
  stackTrace: string | null
  details: Record<string, unknown> | null
  cause: SagaFailure | null
}

/** A saga as a list has it. */
export interface SagaInstance {
  id: string
  definition: string
  definitionVersion: number
  /** Starting again with the same key finds this saga. */
  key: string | null
  /** Of this one, as its starter told it. */
  name: string | null
  description: string | null
  state: SagaState
  /** How far it came forward: the index of the step that runs, or comes next. */
  currentStep: number
  totalSteps: number
  error: SagaFailure | null
  /** It waits for an operator: an undo failed for good, or a step waits for what does not come by itself. */
  awaitingOperator: boolean
  createdAt: Date
  updatedAt: Date
  startedAt: Date | null
  completedAt: Date | null
  timedOutAt: Date | null
  deadlineAt: Date | null
  /** When it is taken up again: at a retry's or a wait's time, or when its lease ends. Null: finished, or it waits for news. */
  wakeAt: Date | null
  /** The coordinator that holds it. */
  leaseOwner: string | null
  leaseUntil: Date | null
  cancelRequestedAt: Date | null
  cancelRequestedBy: string | null
  cancelReason: string | null
  traceId: string | null
  spanId: string | null
  /** The saga that it is a step of. */
  parentId: string | null
  /** From then on it only goes forward. */
  pivotedAt: Date | null
}

export interface SagaStep {
  index: number
  name: string
  state: SagaStepState
  attempts: number
  maxAttempts: number
  /** What was new to it when it began: `outputs` of the steps right before it, or the saga's `input`. */
  input: Record<string, unknown> | null
  /** What it returned. Without its key, encrypted data is shown as it is kept. */
  output: unknown
  /** How far it has come, where a step of Sagapost's own keeps count. */
  progress: Record<string, unknown> | null
  error: SagaFailure | null
  createdAt: Date
  startedAt: Date | null
  completedAt: Date | null
  lastAttemptAt: Date | null
  /** As its definition has it. */
  metadata: Record<string, unknown> | null
  /** What it waits for, or waited for: `signal:<name>:<key>`, `saga:<id>` or `delivery:<saga>:<step>`. */
  waitsFor: string | null
  /** When its sleep or its wait ends, or it is tried again. */
  wakeAt: Date | null
  /** Null: nobody has begun to undo it. */
  compensation: {
    state: SagaStepState
    attempts: number
    maxAttempts: number
    startedAt: string | null
    completedAt: string | null
    error: SagaFailure | null
  } | null
}

export interface SagaEvent {
  /** From 1, without gaps. */
  sequence: number
  type: SagaEventType
  /** Null: it is about the saga itself. */
  stepIndex: number | null
  timestamp: Date
  /** Of the step if there is one, else of the saga. */
  oldState: SagaState | SagaStepState
  newState: SagaState | SagaStepState
  /** Of an operator's action: `action`, `by` and `why`. */
  data: Record<string, unknown> | null
  /** `coordinator`, in the first entry that each one writes: its `leaseOwner`. */
  metadata: Record<string, unknown> | null
  error: SagaFailure | null
  traceId: string | null
  spanId: string | null
}

export interface WholeSaga extends SagaInstance {
  input: unknown
  /** What its steps had returned, by their names, when it last began to wait, or ended. */
  current: Record<string, unknown> | null
  result: unknown
  metadata: Record<string, unknown> | null
  /** Of all events there are. */
  eventCount: number
  steps: SagaStep[]
  /** The last 1,000, oldest first. */
  events: SagaEvent[]
}

export interface SagaListFilter {
  state?: SagaState | undefined
  /** The name of a definition. */
  definition?: string | undefined
  traceId?: string | undefined
  /** True: those only that wait for an operator. */
  awaitingOperator?: boolean | undefined
  /** `nextCursor` of the page before. */
  cursor?: string | undefined
  /** 1 to 200; 50 when absent. */
  limit?: number | undefined
}
