import type { SagaEventType, SagaState, SagaStepState } from '../model/index.js'

// Sagas as operators see them, over HTTP and in TypeScript: names instead of the schema's numbers.

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

/** A saga in a list. */
export interface SagaInstance {
  id: string
  definition: string
  definitionVersion: number
  /** The idempotency key: a second start with it returns this saga. */
  key: string | null
  /** The name that its starter gave this saga. */
  name: string | null
  description: string | null
  state: SagaState
  /** Progress: the index of the step that runs, or comes next. */
  currentStep: number
  totalSteps: number
  error: SagaFailure | null
  /** It waits for an operator: an undo failed for good, or a step waits for something that will not come by itself. */
  awaitingOperator: boolean
  createdAt: Date
  updatedAt: Date
  startedAt: Date | null
  completedAt: Date | null
  timedOutAt: Date | null
  deadlineAt: Date | null
  /** When it is due: at a retry's or a wait's time, or when its lease ends. Null: finished, or it waits for news. */
  wakeAt: Date | null
  /** The coordinator that holds the lease. */
  leaseOwner: string | null
  leaseUntil: Date | null
  cancelRequestedAt: Date | null
  cancelRequestedBy: string | null
  cancelReason: string | null
  traceId: string | null
  spanId: string | null
  /** The saga of which it is a step. */
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
  /** The input that is new to the step: `outputs` of the steps right before it, or the saga's `input`. */
  input: Record<string, unknown> | null
  /** Its return value. Without the key, encrypted data is shown encrypted. */
  output: unknown
  /** Progress, for those of Sagapost's own steps that count it. */
  progress: Record<string, unknown> | null
  error: SagaFailure | null
  createdAt: Date
  startedAt: Date | null
  completedAt: Date | null
  lastAttemptAt: Date | null
  /** From its definition. */
  metadata: Record<string, unknown> | null
  /** The topic that it waits for, or waited for: `signal:<name>:<key>`, `saga:<id>` or `delivery:<saga>:<step>`. */
  waitsFor: string | null
  /** When its sleep or wait ends, or when it is retried. */
  wakeAt: Date | null
  /** Null while its undo has not begun. */
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
  /** Null for an entry about the saga itself. */
  stepIndex: number | null
  timestamp: Date
  /** The step's state if there is a step, else the saga's. */
  oldState: SagaState | SagaStepState
  newState: SagaState | SagaStepState
  /** For an operator's action: `action`, `by` and `why`. */
  data: Record<string, unknown> | null
  /** `coordinator`, in the first entry of each coordinator: its `leaseOwner`. */
  metadata: Record<string, unknown> | null
  error: SagaFailure | null
  traceId: string | null
  spanId: string | null
}

export interface WholeSaga extends SagaInstance {
  input: unknown
  /** The outputs of its steps, by name, when it last began to wait, or ended. */
  current: Record<string, unknown> | null
  result: unknown
  metadata: Record<string, unknown> | null
  /** The total number of events. */
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
  /** True: only sagas that wait for an operator. */
  awaitingOperator?: boolean | undefined
  /** `nextCursor` of the previous page. */
  cursor?: string | undefined
  /** 1 to 200; default 50. */
  limit?: number | undefined
}
