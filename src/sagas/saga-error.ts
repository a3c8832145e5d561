/** [G5] An error as the tables keep it. */
export interface SagaError {
  readonly code: string
  readonly message: string
  readonly type?: string
  readonly retryable?: boolean
  readonly timestamp?: string
  readonly stack_trace?: string
  readonly details?: Record<string, unknown>
  readonly cause?: SagaError
}

/** Thrown by a step (or its undo) that must not be tried again. */
export class NonRetryableError extends Error {
  readonly code: string

  constructor(message: string, { code = 'non_retryable', cause }: { code?: string; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'NonRetryableError'
    this.code = code
  }
}

/** What the coordinator itself has to say about an attempt. */
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
const STACK_CHARS_MAX = 8_000
const CAUSES_MAX = 8

/**
 * What was thrown, in the shape of the schema: short enough, and without text that jsonb refuses. Anything can be thrown:
 * an object without a prototype, a name that is a number, a getter that throws. None of it may end the run.
 */
export function describeError(thrown: unknown, retryable: boolean, depth = 0): SagaError {
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function'
  const code = wordOf(thrown, 'code')
  const name = wordOf(thrown, 'name') || 'Error'
  const stack = wordOf(thrown, 'stack')
  const cause = property(thrown, 'cause')
  const message = isObject ? wordOf(thrown, 'message') : undefined
  return {
    code: clean(code || name, CODE_CHARS_MAX),
    message: clean(message ?? textOf(thrown), MESSAGE_CHARS_MAX),
    type: clean(name, CODE_CHARS_MAX),
    retryable,
    ...(depth === 0 ? { timestamp: new Date().toISOString() } : {}),
    ...(stack === undefined || depth > 0 ? {} : { stack_trace: clean(stack, STACK_CHARS_MAX) }),
    ...(cause === undefined || depth >= CAUSES_MAX
      ? {}
      : { cause: describeError(cause, retryable, depth + 1) }),
  }
}

/** The error with no more causes behind it than are kept: a child's error is its parent's cause, and so on. */
export function limitCauses(error: SagaError, left = CAUSES_MAX - 1): SagaError {
  const { cause, ...rest } = error
  return cause === undefined || left <= 0 ? rest : { ...rest, cause: limitCauses(cause, left - 1) }
}

/** Undefined where there is none, or where it cannot be read. */
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
  return { code, message, type: 'coordinator', retryable, timestamp: new Date().toISOString() }
}

/** [G5] retry_on names codes, types or names; without it every error is worth a retry but those that say otherwise. */
export function isRetryable(thrown: unknown, retryOn: readonly string[] | undefined): boolean {
  if (isNonRetryable(thrown)) return false
  if (retryOn === undefined) return true
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
