import type { CompensateContext, EventToDeliver, ReadyContext } from '../definition.js'
import type { Duration } from '../duration.js'
import type { Stored } from '../json.js'
import type { RetryOptions } from '../retry-policy.js'
import type { StandardSchema } from '../standard-schema.js'

// The options of the builder. As in definition.ts, nothing here leads a user's compiler to another package.

/** For operators: plain data that is stored with the step's row. */
interface Described {
  readonly metadata?: Record<string, unknown>
}

/** A step with a condition: when it is not needed, it is Skipped and its output is undefined. */
export interface Conditional<Input, Outputs> extends Described {
  /** Whether the step is needed. Must be deterministic: the same context gives the same answer. */
  readonly when: (context: ReadyContext<Input, Outputs>) => boolean
}

export interface Unconditional extends Described {
  readonly when?: undefined
}

export interface StepOptions<Context, Input, Outputs, Output> {
  readonly run: (context: Context) => Output
  readonly compensate?: (context: CompensateContext<Input, Outputs, Stored<Awaited<Output>>>) => unknown
  readonly retry?: RetryOptions
  readonly compensateRetry?: RetryOptions
  /** The limit of one attempt at the step, and of one attempt at its undo. */
  readonly timeout?: Duration
}

/** For each branch, the return type of its `run`, or undefined where a `when` may skip it. */
export type BranchOutputs<Branches> = {
  readonly [Name in keyof Branches]:
    | (Branches[Name] extends { readonly run: (...context: never[]) => infer Output }
        ? Stored<Awaited<Output>>
        : never)
    | (Branches[Name] extends { readonly when: unknown } ? undefined : never)
}

/** For several branches, their outputs by name, as far as they fit together; for one, its output. */
export type BranchResult<Outputs> =
  IsUnion<keyof Outputs> extends true ? Outputs | undefined : Outputs[keyof Outputs]

type IsUnion<Key, Whole = Key> = Key extends unknown ? ([Whole] extends [Key] ? false : true) : never

/** How long, or until when: a time in the past is no wait. */
export type SleepOptions<Input, Outputs> =
  | { readonly for: Duration | ((context: ReadyContext<Input, Outputs>) => Duration | number) }
  | { readonly until: (context: ReadyContext<Input, Outputs>) => Date | string }

export interface WaitOptions<Input, Outputs, Payload, Timeout> {
  /** The name of the signal. */
  readonly signal: string
  /** Which signal of this name: for example an order's number. */
  readonly key: (context: ReadyContext<Input, Outputs>) => string | number
  /** Ends the wait without the signal: `{ timedOut: true }`. Default: it waits until the saga's deadline. */
  readonly timeout?: Timeout
  /** A payload that does not match the schema fails the step for good. */
  readonly schema?: StandardSchema<unknown, Payload>
}

/** The outcome of a wait for a signal. */
export type Waited<Payload, Timeout> =
  | { readonly timedOut: false; readonly payload: Stored<Payload> }
  | (undefined extends Timeout ? never : { readonly timedOut: true; readonly payload?: undefined })

export interface ChildOptions<Child, Input, Outputs, ChildGiven> {
  readonly saga: Child
  readonly input: (context: ReadyContext<Input, Outputs>) => ChildGiven
  /** Each attempt starts another child. Default: one attempt. */
  readonly retry?: RetryOptions
}

export interface DeliverOptions<Input, Outputs> {
  /** Called when the step begins. The event is stored once, however often the step is retried. */
  readonly event: (context: ReadyContext<Input, Outputs>) => EventToDeliver
  /**
   * What a dead letter means. `fail` (the default): the step fails, and the saga is undone. `wait`: the saga waits for
   * an operator to requeue the dead letter, skip the step or cancel the saga; past the pivot it always waits. A skipped
   * step has no output, whatever its type says.
   */
  readonly onDeadLetter?: 'fail' | 'wait'
  /**
   * A delivered event cannot be recalled: publish a correction here. `output` is undefined unless all receivers got it.
   */
  readonly compensate?: (context: CompensateContext<Input, Outputs, Delivered>) => unknown
  /** Each attempt checks the deliveries of the same event again. Default: one attempt. */
  readonly retry?: RetryOptions
  readonly compensateRetry?: RetryOptions
  /** After this time the step fails. Default: it waits until the saga's deadline. */
  readonly timeout?: Duration
}

/** The outcome of a step that delivers an event. */
export interface Delivered {
  readonly eventId: string
  /** How many receivers got the event: 0 when there was no subscription. */
  readonly deliveries: number
}

export type NewName<Name extends string, Outputs> = Name extends keyof Outputs ? never : Name

export type With<Outputs, Added> = {
  readonly [Key in keyof Outputs | keyof Added]: Key extends keyof Outputs
    ? Outputs[Key]
    : Key extends keyof Added
      ? Added[Key]
      : never
}
