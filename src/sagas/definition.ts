import type { WakeTime } from './records.js'
import type { RetryPolicy } from './retry-policy.js'
import type { StandardSchema } from './standard-schema.js'

// A user's compiler reads this file: it imports neither `pg` nor any other package that may not be installed there.

/**
 * A `pg` client inside a transaction. A step must not issue COMMIT or ROLLBACK: its coordinator ends the transaction.
 */
export interface StepTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: rows are whatever the statement returns
  query<Row extends Record<string, any> = any>(
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
}

/** AbortSignal where the compiler knows it: its type comes with Node's types or the DOM's. */
type StepSignal = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean; readonly reason: unknown }

/** The context when a step's turn comes. A function that gets only this must be deterministic and synchronous. */
export interface ReadyContext<Input, Outputs> {
  readonly sagaId: string
  readonly input: Input
  /** The outputs of the previous steps, by name. */
  readonly outputs: Outputs
}

export interface StepContext<Input, Outputs> extends ReadyContext<Input, Outputs> {
  /** From 1. */
  readonly attempt: number
  /** The same for every attempt at this step of this saga: pass it to services that must act only once. */
  readonly idempotencyKey: string
  /** Aborted when the step's time is up, the saga is cancelled or overdue, or the lease is lost. */
  readonly signal: StepSignal
  /** W3C trace context of this attempt. */
  readonly traceparent: string
}

export interface TransactionContext<Input, Outputs> extends StepContext<Input, Outputs> {
  readonly tx: StepTransaction
}

export interface CompensateContext<Input, Outputs, Output> extends StepContext<Input, Outputs> {
  /** Undefined when the run failed or was interrupted; it may have had effects all the same. */
  readonly output: Output | undefined
}

/** How steps are undone: in reverse until one fails for good; in reverse despite failures; all at once. */
export type CompensationMode = 'reverse' | 'best_effort' | 'parallel'

/** A step as the coordinator sees it, with its types erased. */
interface AnyStep {
  readonly name: string
  /** From 0. Steps of one stage run at the same time, and are undone together. */
  readonly stage: number
  /** Default: always. */
  readonly when?: (context: never) => boolean
  readonly compensate?: (context: never) => unknown
  readonly retry: RetryPolicy
  readonly compensateRetry: RetryPolicy
  readonly timeoutMs: number | undefined
  /** Stored with the step's row. */
  readonly metadata?: Record<string, unknown>
}

export interface CalledStep extends AnyStep {
  readonly kind: 'step' | 'transaction'
  readonly run: (context: never) => unknown
}

interface SleepStep extends AnyStep {
  readonly kind: 'sleep'
  readonly wake: (context: never) => WakeTime
}

export interface SignalStep extends AnyStep {
  readonly kind: 'signal'
  readonly signal: string
  readonly key: (context: never) => string
  /** How long it waits; undefined: until the saga's deadline. */
  readonly limitMs: number | undefined
  readonly schema: StandardSchema | undefined
}

interface ChildStep extends AnyStep {
  readonly kind: 'saga'
  readonly child: SagaDefinition
  readonly childInput: (context: never) => unknown
}

/** An event of the application that a step publishes. */
export interface EventToDeliver {
  readonly type: string
  /** Any value that JSON can hold. */
  readonly payload: unknown
}

export interface DeliveryStep extends AnyStep {
  readonly kind: 'delivery'
  readonly event: (context: never) => EventToDeliver
  /** How long it waits; undefined: until the saga's deadline. */
  readonly limitMs: number | undefined
  readonly onDeadLetter: 'fail' | 'wait'
}

export type StepDefinition = CalledStep | SleepStep | SignalStep | ChildStep | DeliveryStep

/** A definition: plain data and functions, frozen. */
export interface SagaDefinition {
  readonly name: string
  readonly version: number
  readonly input: StandardSchema | undefined
  readonly timeoutMs: number | undefined
  readonly retry: RetryPolicy
  readonly compensation: CompensationMode
  /** The most sagas of this definition that one coordinator runs at once. */
  readonly concurrency: number | undefined
  /** The most sagas of this definition that one coordinator takes per second. */
  readonly ratePerSecond: number | undefined
  readonly steps: readonly StepDefinition[]
  /** How many steps precede the pivot, from which the saga only goes forward. */
  readonly stepsBeforePivot?: number | undefined
  /** Publishes every entry of its history. */
  readonly publish?: boolean | undefined
}
