import type {
  CompensateContext,
  CompensationMode,
  SagaDefinition,
  StepContext,
  StepDefinition,
  TransactionContext,
} from './definition.js'
import { type Duration, readDuration } from './duration.js'
import { invalidDefinition } from './invalid-definition.js'
import type { Stored } from './json.js'
import { defaultRetryPolicy, type RetryOptions, type RetryPolicy, readRetryPolicy } from './retry-policy.js'
import type { StandardSchema } from './standard-schema.js'

const SAGA_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/
const STEP_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/
const VERSION_MAX = 2_147_483_647

export interface SagaOptions<Given, Input> {
  /** One higher whenever the steps change: running sagas stay on theirs. */
  readonly version?: number
  readonly input?: StandardSchema<Given, Input>
  /** From its start; then all that was done is undone. */
  readonly timeout?: Duration
  /** For steps that say nothing else. */
  readonly retry?: RetryOptions
  readonly compensation?: CompensationMode
  readonly concurrency?: number
  readonly ratePerSecond?: number
}

interface StepOptions<Context, Input, Outputs, Output> {
  readonly run: (context: Context) => Output
  readonly compensate?: (context: CompensateContext<Input, Outputs, Stored<Awaited<Output>>>) => unknown
  readonly retry?: RetryOptions
  readonly compensateRetry?: RetryOptions
  /** Of one attempt, and of one attempt at undoing it. */
  readonly timeout?: Duration
}

type NewName<Name extends string, Outputs> = Name extends keyof Outputs ? never : Name

type With<Outputs, Name extends string, Output> = {
  readonly [Key in keyof Outputs | Name]: Key extends keyof Outputs ? Outputs[Key] : Stored<Awaited<Output>>
}

/** A definition that steps can still be added to: each call gives a new one and leaves this as it is. */
export interface Saga<Given, Input, Outputs> extends SagaDefinition {
  /** Runs at least once; exactly once as long as nothing crashes while it runs. */
  step<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<StepContext<Input, Outputs>, Input, Outputs, Output>,
  ): Saga<Given, Input, With<Outputs, Name, Output>>
  /** Runs in the same database transaction as its checkpoint: what it writes there is written exactly once. */
  transaction<const Name extends string, Output>(
    name: NewName<Name, Outputs>,
    options: StepOptions<TransactionContext<Input, Outputs>, Input, Outputs, Output>,
  ): Saga<Given, Input, With<Outputs, Name, Output>>
  /** Types only; never set. */
  readonly types?: { readonly given: Given; readonly input: Input; readonly outputs: Outputs }
}

/** Begins a definition. `saga('checkout', { version: 1, input: Order }).step('reserve', { run, compensate })` */
export function saga<Given = undefined, Input = Given>(
  name: string,
  options: SagaOptions<Given, Input> = {},
): Saga<Given, Stored<Input>, Record<never, never>> {
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
    steps: Object.freeze([]),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the builder's types are in Saga; here they are rubbed off
function extend(definition: SagaDefinition): Saga<any, any, any> {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const add = (kind: StepDefinition['kind']) => (name: string, options: StepOptions<any, any, any, any>) => {
    const step = readStep(definition, kind, name, options)
    return extend({ ...definition, steps: Object.freeze([...definition.steps, step]) })
  }
  return Object.freeze({ ...definition, step: add('step'), transaction: add('transaction') })
}

function readStep(
  definition: SagaDefinition,
  kind: StepDefinition['kind'],
  name: string,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  options: StepOptions<any, any, any, any>,
): StepDefinition {
  const what = `${definition.name}.${name}`
  if (!STEP_NAME.test(name)) {
    throw invalidDefinition(
      `"${name}" is no name of a step: 1 to 100 of A–Z, a–z, 0–9, _ and -, a letter first`,
    )
  }
  if (definition.steps.some((step) => step.name === name)) {
    throw invalidDefinition(`${definition.name} has two steps named ${name}`)
  }
  if (typeof options.run !== 'function') throw invalidDefinition(`${what}: run must be a function`)
  if (options.compensate !== undefined && typeof options.compensate !== 'function') {
    throw invalidDefinition(`${what}: compensate must be a function`)
  }
  const retry: RetryPolicy = readRetryPolicy(what, options.retry, definition.retry)
  return Object.freeze({
    name,
    kind,
    run: options.run,
    ...(options.compensate ? { compensate: options.compensate } : {}),
    retry,
    compensateRetry: readRetryPolicy(what, options.compensateRetry, retry),
    timeoutMs:
      options.timeout === undefined ? undefined : readDuration(`${what}: timeout`, options.timeout, 'timer'),
  })
}
