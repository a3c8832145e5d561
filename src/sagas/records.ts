import type { SagaEventType, SagaState, SagaStepState } from '../model/index.js'
import type { RetryPolicy } from './retry-policy.js'
import type { SagaError } from './saga-error.js'

/** A row of saga_instances. */
export interface SagaRecord {
  readonly id: string
  readonly definitionId: string
  readonly definitionVersion: number
  readonly idempotencyKey: string | null
  /** Of this one saga, as its starter told it. */
  readonly name: string | null
  readonly description: string | null
  readonly state: SagaState
  readonly currentStep: number
  readonly totalSteps: number
  readonly input: unknown
  /** What its steps had returned when it last began to wait, or ended. */
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
  /** The saga that it is a step of. */
  readonly parentId: string | null
  /** From then on it only goes forward. */
  readonly pivotedAt: Date | null
  /** Its history is published, entry by entry. */
  readonly publishes: boolean
}

/** [G5] saga_steps.compensation_state. */
export interface CompensationState {
  /** 0 asked for again by an operator, 4 under way, 3 failed, 5 done: numbers of a step's states. */
  readonly state: 0 | 3 | 4 | 5
  readonly attempts: number
  readonly max_attempts: number
  /** What an operator's retry adds to max_attempts. */
  readonly attempts_per_round: number
  /** Attempts of this round whose process was gone. */
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
  /** What it was given first: see step-data.ts. */
  readonly input: Record<string, unknown> | null
  readonly output: unknown
  readonly error: SagaError | null
  readonly compensation: CompensationState | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly lastAttemptAt: Date | null
  /** As its definition has it. */
  readonly metadata: Record<string, unknown> | null
  /** The topic that it waits for, or waited for. */
  readonly waitsFor: string | null
  /** When a sleep or a wait ends, or a failed run is tried again. */
  readonly wakeAt: Date | null
}

/** A row of saga_events. */
export interface SagaEventRecord {
  readonly sagaId: string
  readonly sequence: number
  readonly type: SagaEventType
  readonly stepIndex: number | null
  readonly timestamp: Date
  /** Of the step if there is one, else of the saga; numbers of the schema. */
  readonly oldState: number
  readonly newState: number
  readonly data: Record<string, unknown> | null
  /** Of the first that a coordinator writes when it has taken the saga: which one. */
  readonly metadata: Record<string, unknown> | null
  readonly error: SagaError | null
  readonly traceId: string | null
  readonly spanId: string | null
}

/** Who may write: the holder of the lease, with the token of its last claim or write. */
interface Fence {
  readonly owner: string | null
  readonly version: number
}

/** One write: the new state of a saga, of some of its steps, and what happened. All of it or nothing. */
export interface SagaChange extends Fence {
  readonly sagaId: string
  readonly state: SagaState
  readonly currentStep: number
  readonly error: SagaError | null
  readonly awaitingOperator: boolean
  /** As JSON; absent: as it was. */
  readonly result?: string
  /** As JSON; absent: as it was. */
  readonly current?: string
  readonly started?: boolean
  readonly finished?: boolean
  readonly timedOut?: boolean
  /** Absent: the lease is kept and begins anew. */
  readonly release?: Release
  /** It has passed its pivot. */
  readonly pivoted?: boolean
  /** Sagas that are started with this write, as its own. */
  readonly children?: readonly NewSaga[]
  /** Topics that there is news of with this write. */
  readonly wakes?: readonly string[]
  /** Events that steps begin to wait for with this write; stored once for each step. */
  readonly publications?: readonly Publication[]
  /** Its history is published; the storage knows by itself. */
  readonly publishes?: boolean
  /** Those before this write but for a cancel's, which its holder does not write: tells whether it was applied. */
  readonly eventsBefore?: number
  readonly steps: readonly StepChange[]
  readonly events: readonly EventChange[]
}

/** When it is due again: at the earlier of the two, or, with neither, when there is news. */
export interface Release {
  readonly wakeInMs: number | null
  readonly wakeAt?: Date
  /** Neither a deadline nor a cancel shortens the pause: nobody here can run it. */
  readonly setAside?: boolean
}

export interface StepChange {
  readonly index: number
  readonly state: SagaStepState
  readonly attempts: number
  readonly maxAttempts: number
  readonly error: SagaError | null
  readonly compensation: CompensationState | null
  /** As JSON; absent: as it was. */
  readonly input?: string
  /** As JSON; absent: as it was. */
  readonly output?: string
  /** A run begins. */
  readonly started?: boolean
  /** The run succeeded. */
  readonly finished?: boolean
  readonly waitsFor: string | null
  /** By the storage's clock; absent: there is no time that it waits for. */
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
  /** Whoever starts it may hold it at once, and begin its first step: `events` are those of that. */
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

/** What others may have said about a saga meanwhile, by the storage's clock. */
export interface Signals {
  readonly cancelRequested: boolean
  /** The deadline has passed. */
  readonly overdue: boolean
}

export interface ClaimedSaga {
  readonly saga: SagaRecord
  readonly steps: readonly StepRecord[]
  readonly signals: Signals
  /** Another's lease had run out. */
  readonly recovered: boolean
  /** Its data cannot be opened here (another key, damage), and is left out. It can only be let go. */
  readonly unreadable?: Error
}

/** All but that of a cancel: the only one that anybody writes without holding the saga. */
export function ownEventCount({ eventCount, cancelRequestedAt }: SagaRecord): number {
  return eventCount - (cancelRequestedAt === null ? 0 : 1)
}
