import { decodeJson, encodeJson } from './json.js'

/** [G5] An error as the tables store it. */
export interface SagaError {
  readonly code: string
  readonly message: string
  readonly type: string | null
  readonly retryable: boolean | null
  readonly timestamp: string | null
  /** With a key, this, `details` and `cause` are stored encrypted: see error-box.ts. */
  readonly stack_trace: string | null
  readonly details: Record<string, unknown> | null
  readonly cause: SagaError | null
}

/** Thrown by a step (or its undo) that must not be retried. */
export class NonRetryableError extends Error {
  readonly code: string
  /** Stored with the error: plain data, up to 4,000 characters as JSON. */
  readonly details: Record<string, unknown> | undefined

  constructor(
    message: string,
    {
      code = 'non_retryable',
      details,
      cause,
    }: { code?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'NonRetryableError'
    this.code = code
    this.details = details
  }
}

/** The coordinator's own errors about an attempt. */
export type AttemptErrorCode =
  | 'step_timed_out'
  | 'saga_cancelled'
  | 'saga_timed_out'
  | 'run_interrupted'
  | 'run_not_called'
  | 'output_invalid'
  | 'branch_stopped'
  | 'signal_invalid'
  | 'child_failed'
  | 'child_not_undone'
  | 'delivery_dead_lettered'
  | 'delivery_unknown'

const CODE_CHARS_MAX = 200
const MESSAGE_CHARS_MAX = 4_000
/** For an error and its causes together. */
const STACK_CHARS_MAX = 8_000
const DETAILS_CHARS_MAX = 4_000
const CAUSES_MAX = 8

/**
 * The thrown value in the schema's shape: bounded, and without text that jsonb refuses. Anything can be thrown (an
 * object without a prototype, a name that is a number, a getter that throws), and none of it may end the run.
 */
export function describeError(thrown: unknown, retryable: boolean): SagaError {
  return describe(thrown, { retryable, timestamp: new Date().toISOString() }, CAUSES_MAX, STACK_CHARS_MAX)
}

function describe(
  thrown: unknown,
  common: Pick<SagaError, 'retryable' | 'timestamp'>,
  causesLeft: number,
  stackCharsLeft: number,
): SagaError {
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function'
  const code = wordOf(thrown, 'code')
  const name = wordOf(thrown, 'name') || 'Error'
  const stack = clean(wordOf(thrown, 'stack') ?? '', stackCharsLeft)
  const cause = causesLeft > 0 ? (property(thrown, 'cause') ?? null) : null
  const message = isObject ? wordOf(thrown, 'message') : undefined
  return {
    code: clean(code || name, CODE_CHARS_MAX),
    message: clean(message ?? textOf(thrown), MESSAGE_CHARS_MAX),
    type: clean(name, CODE_CHARS_MAX),
    ...common,
    stack_trace: stack || null,
    details: detailsOf(thrown),
    cause: cause === null ? null : describe(cause, common, causesLeft - 1, stackCharsLeft - stack.length),
  }
}

/**
 * The error as another record repeats it: with a limited chain of causes (a child's error becomes its parent's cause,
 * and so on), and without stacks, which are kept where it was thrown.
 */
export function retellError(error: SagaError, causesLeft = CAUSES_MAX): SagaError {
  const cause = error.cause && causesLeft > 0 ? retellError(error.cause, causesLeft - 1) : null
  return { ...error, stack_trace: null, cause }
}

/** The details as JSON can hold them, if they are not too long. */
function detailsOf(thrown: unknown): SagaError['details'] {
  try {
    const details = decodeJson(encodeJson(property(thrown, 'details')))
    const isObject = typeof details === 'object' && details !== null && !Array.isArray(details)
    if (!isObject || JSON.stringify(details).length > DETAILS_CHARS_MAX) return null
    return details as Record<string, unknown>
  } catch {
    return null
  }
}

/** Undefined when the property is absent or cannot be read. */
function property(thrown: unknown, key: string): unknown {
  try {
    return (thrown as Record<string, unknown> | null | undefined)?.[key]
  } catch {
    return undefined
  }
}

function wordOf(thrown: unknown, key: string): string | undefined {
  const word = property(thrown, key)
  return typeof word === 'string' || typeof word === 'number' ? String(word) : undefined
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something was thrown that cannot be shown'
  }
}

export function attemptError(code: AttemptErrorCode, message: string, retryable: boolean): SagaError {
  const timestamp = new Date().toISOString()
  return {
    code,
    message,
    type: 'coordinator',
    retryable,
    timestamp,
    stack_trace: null,
    details: null,
    cause: null,
  }
}

/**
 * [G5] retry_on lists codes, types or names; without it every error is retried unless it is marked as not retryable.
 */
export function isRetryable(thrown: unknown, retryOn: readonly string[] | null): boolean {
  if (isNonRetryable(thrown)) return false
  if (retryOn === null) return true
  return ['code', 'type', 'name'].some((key) => {
    const word = wordOf(thrown, key)
    return word !== undefined && retryOn.includes(word)
  })
}

function isNonRetryable(thrown: unknown): boolean {
  try {
    return thrown instanceof NonRetryableError
  } catch {
    return false
  }
}

function clean(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/\p{Surrogate}|\0/gu, '\ufffd')
}
