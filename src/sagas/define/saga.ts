import type { CompensationMode, SagaDefinition, StepContext, TransactionContext } from '../definition.js'
import { type Duration, readDuration } from '../duration.js'
import { invalidDefinition } from '../invalid-definition.js'
import type { Stored } from '../json.js'
import { defaultRetryPolicy, type RetryOptions, readRetryPolicy } from '../retry-policy.js'
import type { StandardSchema } from '../standard-schema.js'
import { addBranches, addStep, type Kind, markPivot } from './add-steps.js'
import type {
  BranchOutputs,
  BranchResult,
  ChildOptions,
  Conditional,
  Delivered,
  DeliverOptions,
  NewName,
  SleepOptions,
  StepOptions,
  Unconditional,
  Waited,
  WaitOptions,
  With,
} from './step-options.js'

const SAGA_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/
const VERSION_MAX = 2_147_483_647

export interface SagaOptions<Given, Input> {
  /** Increase it whenever the steps change: running sagas keep their version. */
  readonly version?: number
  readonly input?: StandardSchema<Given, Input>
  /** Counted from the saga's start; then everything that was done is undone. Ignored past the pivot. */
  readonly timeout?: Duration
  /** The default for its steps. */
  readonly retry?: RetryOptions
  readonly compensation?: CompensationMode
  readonly concurrency?: number
  readonly ratePerSecond?: number
  /** Stores every entry of a saga's history as an event (`saga.started`, …) in the same transaction. */
  readonly publish?: boolean
}

/** A definition to which steps can be added: each call returns a new definition and leaves this one unchanged. */
export interface Saga<Given, Input, Outputs, Result = unknown> extends SagaDefinition {
  /** Runs at least once, and exactly once when nothing crashes while it runs. */
  step<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<StepContext<Input, Outputs>, Input, Outputs, Output> & Conditional<Input, Outputs>,
  ): Next<Given, Input, Outputs, Name, Stored<Awaited<Output>> | undefined>
  step<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<StepContext<Input, Outputs>, Input, Outputs, Output> & Unconditional,
  ): Next<Given, Input, Outputs, Name, Stored<Awaited<Output>>>
  /** Runs in the same database transaction as its checkpoint: what it writes there is written exactly once. */
  transaction<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<TransactionContext<Input, Outputs>, Input, Outputs, Output> &
      Conditional<Input, Outputs>,
  ): Next<Given, Input, Outputs, Name, Stored<Awaited<Output>> | undefined>
  transaction<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<TransactionContext<Input, Outputs>, Input, Outputs, Output> & Unconditional,
  ): Next<Given, Input, Outputs, Name, Stored<Awaited<Output>>>
  /** Steps that run at the same time and are undone together. When one fails for good, the others are stopped. */
  parallel<Returned extends Record<string, unknown>, const Branches extends Record<keyof Returned, object>>(
    branches: Branches & {
      readonly [Name in keyof Returned]: StepOptions<
        StepContext<Input, Outputs>,
        Input,
        Outputs,
        Returned[Name]
      > &
        Partial<Conditional<Input, Outputs>>
    } & { readonly [Name in keyof Outputs]?: never },
  ): Saga<Given, Input, With<Outputs, BranchOutputs<Branches>>, BranchResult<BranchOutputs<Branches>>>
  /** Waits for a time. No process holds the saga meanwhile. */
  sleep<const Name extends string>(
    name: NewName<Name, Outputs>,
    options: SleepOptions<Input, Outputs> & Partial<Conditional<Input, Outputs>>,
  ): Saga<Given, Input, Outputs, undefined>
  /** Waits for a signal and returns its payload. A signal that was sent earlier is found at once. */
  waitFor<
    const Name extends string,
    Payload = unknown,
    const Timeout extends Duration | undefined = undefined,
  >(
    name: NewName<Name, Outputs>,
    options: WaitOptions<Input, Outputs, Payload, Timeout> & Conditional<Input, Outputs>,
  ): Next<Given, Input, Outputs, Name, Waited<Payload, Timeout> | undefined>
  waitFor<
    const Name extends string,
    Payload = unknown,
    const Timeout extends Duration | undefined = undefined,
  >(
    name: NewName<Name, Outputs>,
    options: WaitOptions<Input, Outputs, Payload, Timeout> & Unconditional,
  ): Next<Given, Input, Outputs, Name, Waited<Payload, Timeout>>
  /**
   * Starts another saga and waits for its result, the output of its last step. The child is completed, cancelled and
   * undone together with this saga.
   */
  child<const Name extends string, ChildGiven, ChildInput, ChildOutputs, ChildResult>(
    name: NewName<Name, Outputs>,
    options: ChildOptions<
      Saga<ChildGiven, ChildInput, ChildOutputs, ChildResult>,
      Input,
      Outputs,
      ChildGiven
    > &
      Conditional<Input, Outputs>,
  ): Next<Given, Input, Outputs, Name, ChildResult | undefined>
  child<const Name extends string, ChildGiven, ChildInput, ChildOutputs, ChildResult>(
    name: NewName<Name, Outputs>,
    options: ChildOptions<
      Saga<ChildGiven, ChildInput, ChildOutputs, ChildResult>,
      Input,
      Outputs,
      ChildGiven
    > &
      Unconditional,
  ): Next<Given, Input, Outputs, Name, ChildResult>
  /** Publishes an event and waits until all its deliveries have completed. No process holds the saga meanwhile. */
  deliver<const Name extends string>(
    name: NewName<Name, Outputs>,
    options: DeliverOptions<Input, Outputs> & Conditional<Input, Outputs>,
  ): Next<Given, Input, Outputs, Name, Delivered | undefined>
  deliver<const Name extends string>(
    name: NewName<Name, Outputs>,
    options: DeliverOptions<Input, Outputs> & Unconditional,
  ): Next<Given, Input, Outputs, Name, Delivered>
  /**
   * After the steps so far, the saga only goes forward: later steps are retried until they succeed, nothing is undone
   * any more, and neither a cancel nor the deadline stops it.
   */
  pivot(): Saga<Given, Input, Outputs, Result>
  /** For types only; never set. */
  readonly types?: {
    readonly given: Given
    readonly input: Input
    readonly outputs: Outputs
    readonly result: Result
  }
}

/** The saga with one more step, whose output is the saga's result unless another step follows. */
type Next<Given, Input, Outputs, Name extends string, Output> = Saga<
  Given,
  Input,
  With<Outputs, { [Key in Name]: Output }>,
  Output
>

/** Begins a definition: `saga('checkout', { version: 1, input: Order }).step('reserve', { run, compensate })` */
export function saga<Given = undefined, Input = Given>(
  name: string,
  options: SagaOptions<Given, Input> = {},
): Saga<Given, Stored<Input>, Record<never, never>, undefined> {
  const { version = 1, compensation = 'reverse' } = options
  if (!SAGA_NAME.test(name)) {
    throw invalidDefinition(
      `"${name}" is no name of a saga: 1 to 100 of A–Z, a–z, 0–9, _, . and -, a letter first`,
    )
  }
  if (!Number.isInteger(version) || version < 1 || version > VERSION_MAX) {
    throw invalidDefinition(`${name}: version must be a whole number from 1 on`)
  }
  if (!['reverse', 'best_effort', 'parallel'].includes(compensation)) {
    throw invalidDefinition(`${name}: compensation must be reverse, best_effort or parallel`)
  }
  if (options.publish !== undefined && typeof options.publish !== 'boolean') {
    throw invalidDefinition(`${name}: publish must be true or false`)
  }
  for (const limit of ['concurrency', 'ratePerSecond'] as const) {
    const value = options[limit]
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw invalidDefinition(`${name}: ${limit} must be a whole number from 1 on`)
    }
  }
  return extend({
    name,
    version,
    input: options.input,
    timeoutMs: options.timeout === undefined ? undefined : readDuration(`${name}: timeout`, options.timeout),
    retry: readRetryPolicy(name, options.retry, defaultRetryPolicy),
    compensation,
    concurrency: options.concurrency,
    ratePerSecond: options.ratePerSecond,
    publish: options.publish ?? false,
    steps: Object.freeze([]),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the builder's types are in Saga; here they are rubbed off
function extend(definition: SagaDefinition): Saga<any, any, any, any> {
  const add = (kind: Kind) => (name: string, options: object) =>
    extend(addStep(definition, kind, name, options))
  return Object.freeze({
    ...definition,
    step: add('step'),
    transaction: add('transaction'),
    sleep: add('sleep'),
    waitFor: add('signal'),
    child: add('saga'),
    deliver: add('delivery'),
    parallel: (branches: Record<string, object>) => extend(addBranches(definition, branches)),
    pivot: () => extend(markPivot(definition)),
  })
}
