import type { WakeTime } from './records.js'
import type { RetryPolicy } from './retry-policy.js'
import type { StandardSchema } from './standard-schema.js'

// A user's compiler reads this file: it imports neither `pg` nor anything else that may not be installed there.

/** A `pg` client inside of a transaction. That of a step is ended by its coordinator: neither COMMIT nor ROLLBACK. */
export interface StepTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: rows are whatever the statement returns
  query<Row extends Record<string, any> = any>(
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
}

/** AbortSignal, where the compiler knows it: it comes with the types of Node or of the browser. */
type StepSignal = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : { readonly aborted: boolean; readonly reason: unknown }

/** What is known when a step's turn comes. Whoever gets only this decides by it: the same answer every time, at once. */
export interface ReadyContext<Input, Outputs> {
  readonly sagaId: string
  readonly input: Input
  /** What the steps before have returned, by their names. */
  readonly outputs: Outputs
}

export interface StepContext<Input, Outputs> extends ReadyContext<Input, Outputs> {
  /** From 1. */
  readonly attempt: number
  /** The same for every attempt at this step of this saga: hand it on to whoever must do the thing once. */
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
  /** Undefined when the run failed or was interrupted: it may have done something all the same. */
  readonly output: Output | undefined
}

/** How steps are undone: last first until one fails for good; last first whatever fails; all at once. */
export type CompensationMode = 'reverse' | 'best_effort' | 'parallel'

/** One step as the coordinator sees it, the types rubbed off. */
interface AnyStep {
  readonly name: string
  /** From 0. Steps of one stage run at the same time, and are undone together. */
  readonly stage: number
  /** Absent: always. */
  readonly when?: (context: never) => boolean
  readonly compensate?: (context: never) => unknown
  readonly retry: RetryPolicy
  readonly compensateRetry: RetryPolicy
  readonly timeoutMs: number | undefined
  /** Kept with the step's row. */
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

/** An event of an application, as a step publishes it. */
export interface EventToDeliver {
  readonly type: string
  /** Anything that JSON can hold. */
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
  /** At most so many at once in one coordinator. */
  readonly concurrency: number | undefined
  /** At most so many taken up a second by one coordinator. */
  readonly ratePerSecond: number | undefined
  readonly steps: readonly StepDefinition[]
  /** How many steps stand before the point from which it only goes forward. */
  readonly stepsBeforePivot?: number | undefined
  /** Its history is published, entry by entry. */
  readonly publish?: boolean | undefined
}
