import type { CompensateContext, EventToDeliver, ReadyContext } from '../definition.js'
import type { Duration } from '../duration.js'
import type { Stored } from '../json.js'
import type { RetryOptions } from '../retry-policy.js'
import type { StandardSchema } from '../standard-schema.js'

// What the builder takes. As in definition.ts, nothing here leads a user's compiler to another package.

/** For operators: plain data that is kept with the step's row. */
interface Described {
  readonly metadata?: Record<string, unknown>
}

/** A step on a condition: one that is not needed is Skipped, and its output is undefined. */
export interface Conditional<Input, Outputs> extends Described {
  /** Whether it is needed. It decides by what it is given: the same answer every time. */
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
  /** Of one attempt, and of one attempt at undoing it. */
  readonly timeout?: Duration
}

/** By the branches as they were written: what each one's `run` gives, or undefined where a `when` may say no. */
export type BranchOutputs<Branches> = {
  readonly [Name in keyof Branches]:
    | (Branches[Name] extends { readonly run: (...context: never[]) => infer Output }
        ? Stored<Awaited<Output>>
        : never)
    | (Branches[Name] extends { readonly when: unknown } ? undefined : never)
}

/** Of several by their names, as far as they are not too long to be kept together; of one, what it returned. */
export type BranchResult<Outputs> =
  IsUnion<keyof Outputs> extends true ? Outputs | undefined : Outputs[keyof Outputs]

type IsUnion<Key, Whole = Key> = Key extends unknown ? ([Whole] extends [Key] ? false : true) : never

/** How long, or until when: a time that has passed is no wait at all. */
export type SleepOptions<Input, Outputs> =
  | { readonly for: Duration | ((context: ReadyContext<Input, Outputs>) => Duration | number) }
  | { readonly until: (context: ReadyContext<Input, Outputs>) => Date | string }

export interface WaitOptions<Input, Outputs, Payload, Timeout> {
  /** The name of the signal. */
  readonly signal: string
  /** Which of this name: an order's number, say. */
  readonly key: (context: ReadyContext<Input, Outputs>) => string | number
  /** Then the wait is over without it: `{ timedOut: true }`. Absent: it waits as long as the saga may take. */
  readonly timeout?: Timeout
  /** A payload that does not fit fails the step for good. */
  readonly schema?: StandardSchema<unknown, Payload>
}

/** What a wait for a signal has come to. */
export type Waited<Payload, Timeout> =
  | { readonly timedOut: false; readonly payload: Stored<Payload> }
  | (undefined extends Timeout ? never : { readonly timedOut: true; readonly payload?: undefined })

export interface ChildOptions<Child, Input, Outputs, ChildGiven> {
  readonly saga: Child
  readonly input: (context: ReadyContext<Input, Outputs>) => ChildGiven
  /** Each attempt starts another child; one, unless told otherwise. */
  readonly retry?: RetryOptions
}

export interface DeliverOptions<Input, Outputs> {
  /** Asked when its turn comes. It is stored once, however often the step is begun. */
  readonly event: (context: ReadyContext<Input, Outputs>) => EventToDeliver
  /**
   * What a dead letter means. `fail`, which is the default: the step has failed, and what was done is undone. `wait`: the
   * saga waits for an operator, who requeues the dead letter, skips the step or cancels the saga. Past the pivot it waits
   * in any case. A step that was skipped has no output, whatever its type says.
   */
  readonly onDeadLetter?: 'fail' | 'wait'
  /** What the receivers got cannot be taken back: tell them so. `output` is undefined unless all had it. */
  readonly compensate?: (context: CompensateContext<Input, Outputs, Delivered>) => unknown
  /** Each attempt looks at the same event's deliveries again; one, unless told otherwise. */
  readonly retry?: RetryOptions
  readonly compensateRetry?: RetryOptions
  /** Then the step has failed. Absent: it waits as long as the saga may take. */
  readonly timeout?: Duration
}

/** What a step that delivers an event has come to. */
export interface Delivered {
  readonly eventId: string
  /** How many receivers have it; none, if nobody had subscribed. */
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
