import type { SagaEventType, SagaState, SagaStepState } from '../model/index.js'
import type { RetryPolicy } from './retry-policy.js'
import type { SagaError } from './saga-error.js'

/** A row of saga_instances. */
export interface SagaRecord {
  readonly id: string
  readonly definitionId: string
  readonly definitionVersion: number
  readonly idempotencyKey: string | null
  /** The name that its starter gave this saga. */
  readonly name: string | null
  readonly description: string | null
  readonly state: SagaState
  readonly currentStep: number
  readonly totalSteps: number
  readonly input: unknown
  /** The outputs of its steps when it last began to wait, or ended. */
  readonly current: Record<string, unknown> | null
  readonly result: unknown
  readonly error: SagaError | null
  readonly awaitingOperator: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly timedOutAt: Date | null
  readonly timeoutMs: number | null
  readonly retryPolicy: RetryPolicy | null
  readonly metadata: Record<string, unknown> | null
  readonly traceId: string | null
  readonly spanId: string | null
  readonly wakeAt: Date | null
  readonly deadlineAt: Date | null
  readonly leaseOwner: string | null
  readonly leaseUntil: Date | null
  /** Fencing token. */
  readonly version: number
  readonly eventCount: number
  readonly cancelRequestedAt: Date | null
  readonly cancelRequestedBy: string | null
  readonly cancelReason: string | null
  /** The saga of which it is a step. */
  readonly parentId: string | null
  /** When it passed its pivot, from which it only goes forward. */
  readonly pivotedAt: Date | null
  /** Whether its history is published, entry by entry. */
  readonly publishes: boolean
}

/** [G5] saga_steps.compensation_state. */
export interface CompensationState {
  /** 0 requested again by an operator, 4 in progress, 3 failed, 5 done: numbers of a step's states. */
  readonly state: 0 | 3 | 4 | 5
  readonly attempts: number
  readonly max_attempts: number
  /** How many attempts an operator's retry adds to max_attempts. */
  readonly attempts_per_round: number
  /** Attempts of this round whose process died. */
  readonly interrupted: number
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly error: SagaError | null
}

/** A row of saga_steps. */
export interface StepRecord {
  readonly id: string
  readonly sagaId: string
  readonly index: number
  readonly name: string
  readonly state: SagaStepState
  readonly attempts: number
  readonly maxAttempts: number
  /** Its first input: see step-data.ts. */
  readonly input: Record<string, unknown> | null
  readonly output: unknown
  readonly error: SagaError | null
  readonly compensation: CompensationState | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly lastAttemptAt: Date | null
  /** From its definition. */
  readonly metadata: Record<string, unknown> | null
  /** The topic that it waits for, or waited for. */
  readonly waitsFor: string | null
  /** When a sleep or a wait ends, or a failed run is retried. */
  readonly wakeAt: Date | null
}

/** A row of saga_events. */
export interface SagaEventRecord {
  readonly sagaId: string
  readonly sequence: number
  readonly type: SagaEventType
  readonly stepIndex: number | null
  readonly timestamp: Date
  /** The step's state if there is a step, else the saga's; numbers of the schema. */
  readonly oldState: number
  readonly newState: number
  readonly data: Record<string, unknown> | null
  /** In a coordinator's first entry after it took the saga: its id. */
  readonly metadata: Record<string, unknown> | null
  readonly error: SagaError | null
  readonly traceId: string | null
  readonly spanId: string | null
}

/** The permission to write: the lease's holder, with the token of its last claim or write. */
interface Fence {
  readonly owner: string | null
  readonly version: number
}

/** One atomic write: the new state of a saga and of some of its steps, and the events. */
export interface SagaChange extends Fence {
  readonly sagaId: string
  readonly state: SagaState
  readonly currentStep: number
  readonly error: SagaError | null
  readonly awaitingOperator: boolean
  /** As JSON; absent: unchanged. */
  readonly result?: string
  /** As JSON; absent: unchanged. */
  readonly current?: string
  readonly started?: boolean
  readonly finished?: boolean
  readonly timedOut?: boolean
  /** Absent: the lease is kept and renewed. */
  readonly release?: Release
  /** The saga has passed its pivot. */
  readonly pivoted?: boolean
  /** Child sagas that are started with this write. */
  readonly children?: readonly NewSaga[]
  /** Topics of which this write is news. */
  readonly wakes?: readonly string[]
  /** Events that steps begin to wait for with this write; stored once for each step. */
  readonly publications?: readonly Publication[]
  /** Whether its history is published; the storage reads this from the row. */
  readonly publishes?: boolean
  /**
   * The number of events before this write, without a cancel's, which the holder does not write. Tells whether the
   * write was applied.
   */
  readonly eventsBefore?: number
  readonly steps: readonly StepChange[]
  readonly events: readonly EventChange[]
}

/** When the saga is due again: at the earlier of the two times or, with neither, when there is news. */
export interface Release {
  readonly wakeInMs: number | null
  readonly wakeAt?: Date
  /** Neither a deadline nor a cancel shortens the pause: this process cannot run it. */
  readonly setAside?: boolean
}

export interface StepChange {
  readonly index: number
  readonly state: SagaStepState
  readonly attempts: number
  readonly maxAttempts: number
  readonly error: SagaError | null
  readonly compensation: CompensationState | null
  /** As JSON; absent: unchanged. */
  readonly input?: string
  /** As JSON; absent: unchanged. */
  readonly output?: string
  /** A run begins. */
  readonly started?: boolean
  /** The run succeeded. */
  readonly finished?: boolean
  readonly waitsFor: string | null
  /** By the storage's clock; absent: it waits for no time. */
  readonly wake?: WakeTime
}

export type WakeTime = { readonly inMs: number } | { readonly at: Date }

/** An event whose deliveries a step waits for. */
export interface Publication {
  readonly stepIndex: number
  readonly type: string
  /** As JSON. */
  readonly payload: string
  readonly spanId: string
}

export interface EventChange {
  readonly type: SagaEventType
  readonly stepIndex: number | null
  readonly oldState: number
  readonly newState: number
  readonly data?: Record<string, unknown>
  readonly metadata?: Record<string, unknown>
  readonly error?: SagaError
  readonly spanId?: string
}

export interface NewSaga {
  readonly id: string
  readonly definitionId: string
  readonly definitionVersion: number
  readonly idempotencyKey: string | null
  readonly name?: string
  readonly description?: string
  /** As JSON. */
  readonly input: string | undefined
  readonly timeoutMs: number | null
  readonly retryPolicy: RetryPolicy
  readonly metadata: Record<string, unknown> | null
  readonly traceId: string
  readonly spanId: string
  readonly steps: readonly NewStep[]
  readonly parentId?: string
  readonly publishes?: boolean
  /** The starter may hold it at once and begin its first step, whose events are `events`. */
  readonly lease?: {
    readonly owner: string
    readonly leaseMs: number
    readonly events?: readonly EventChange[]
  }
}

export interface NewStep {
  readonly name: string
  readonly maxAttempts: number
  readonly metadata?: Record<string, unknown>
}

/** What others have requested for a saga, by the storage's clock. */
export interface Signals {
  readonly cancelRequested: boolean
  /** The deadline has passed. */
  readonly overdue: boolean
}

export interface ClaimedSaga {
  readonly saga: SagaRecord
  readonly steps: readonly StepRecord[]
  readonly signals: Signals
  /** Another coordinator's lease had expired. */
  readonly recovered: boolean
  /** Its data cannot be opened here (another key, damage) and is left out. The saga can only be released. */
  readonly unreadable?: Error
}

/** All events but a cancel's, the only one that is written without holding the saga. */
export function ownEventCount({ eventCount, cancelRequestedAt }: SagaRecord): number {
  return eventCount - (cancelRequestedAt === null ? 0 : 1)
}
