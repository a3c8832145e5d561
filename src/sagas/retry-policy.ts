import { createHash } from 'node:crypto'
import { type Duration, readDuration } from './duration.js'
import { invalidDefinition } from './invalid-definition.js'

export interface RetryOptions {
  /** The total number of attempts, including the first. */
  readonly maxAttempts?: number
  readonly backoff?: 'fixed' | 'linear' | 'exponential'
  /** The first pause, and the base of the later ones. */
  readonly initialInterval?: Duration
  readonly maxInterval?: Duration
  /** The base of the exponential backoff. */
  readonly multiplier?: number
  /**
   * `deterministic` spreads sagas over the upper half of the pause, always the same for a saga, step and attempt;
   * `full` picks any pause from 0 on at random.
   */
  readonly jitter?: 'none' | 'deterministic' | 'full'
  /** Codes, types or names of errors that are retried. Default: all errors. */
  readonly retryOn?: readonly string[]
}

/** [G5] The form in which saga_instances.retry_policy stores it. */
export interface RetryPolicy {
  readonly max_attempts: number
  readonly backoff: 'fixed' | 'linear' | 'exponential'
  readonly initial_interval_ms: number
  readonly max_interval_ms: number
  readonly multiplier: number
  readonly jitter: 'none' | 'deterministic' | 'full'
  /** Null: all errors. */
  readonly retry_on: readonly string[] | null
}

const ATTEMPTS_MAX = 1_000
const MULTIPLIER_MAX = 1_000

export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  max_attempts: 3,
  backoff: 'exponential',
  initial_interval_ms: 1_000,
  max_interval_ms: 60_000,
  multiplier: 2,
  jitter: 'deterministic',
  retry_on: null,
})

export function readRetryPolicy(
  what: string,
  options: RetryOptions | undefined,
  base: RetryPolicy,
): RetryPolicy {
  if (options === undefined) return base
  const { maxAttempts = base.max_attempts, multiplier = base.multiplier } = options
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > ATTEMPTS_MAX) {
    throw invalidDefinition(`${what}: maxAttempts must be a whole number from 1 to ${ATTEMPTS_MAX}`)
  }
  if (!(multiplier >= 1 && multiplier <= MULTIPLIER_MAX)) {
    throw invalidDefinition(`${what}: multiplier must be a number from 1 to ${MULTIPLIER_MAX}`)
  }
  const initialMs = options.initialInterval
    ? readDuration(`${what}: initialInterval`, options.initialInterval)
    : base.initial_interval_ms
  const maxMs = options.maxInterval
    ? readDuration(`${what}: maxInterval`, options.maxInterval)
    : Math.max(base.max_interval_ms, initialMs)
  if (maxMs < initialMs) throw invalidDefinition(`${what}: maxInterval is shorter than initialInterval`)
  const retryOn = options.retryOn ?? base.retry_on
  return Object.freeze({
    max_attempts: maxAttempts,
    backoff: options.backoff ?? base.backoff,
    initial_interval_ms: initialMs,
    max_interval_ms: maxMs,
    multiplier,
    jitter: options.jitter ?? base.jitter,
    retry_on: retryOn && Object.freeze([...retryOn]),
  })
}

/** The pause after a failed attempt. `seed` (saga, step and attempt) makes jitter deterministic. */
export function retryDelayMs(
  policy: RetryPolicy,
  attempt: number,
  seed: string,
  random: () => number = Math.random,
): number {
  const { backoff, initial_interval_ms: initial, max_interval_ms: most, multiplier } = policy
  const factor = backoff === 'fixed' ? 1 : backoff === 'linear' ? attempt : multiplier ** (attempt - 1)
  const pauseMs = Math.min(initial * factor, most)
  if (policy.jitter === 'none') return Math.round(pauseMs)
  if (policy.jitter === 'full') return Math.round(pauseMs * random())
  return Math.round(pauseMs * (0.5 + fractionOf(seed) / 2))
}

function fractionOf(seed: string): number {
  return createHash('sha256').update(seed).digest().readUInt32BE(0) / 2 ** 32
}
