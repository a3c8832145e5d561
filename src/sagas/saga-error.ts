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

const MESSAGE_CHARS_MAX = 4_000
const STACK_CHARS_MAX = 8_000
const CAUSES_MAX = 8

/** What was thrown, in the shape of the schema: short enough, and without text that jsonb refuses. */
export function describeError(thrown: unknown, retryable: boolean, depth = 0): SagaError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { code } = error as { code?: unknown }
  return {
    code: clean(typeof code === 'string' || typeof code === 'number' ? String(code) : error.name, 200),
    message: clean(error.message, MESSAGE_CHARS_MAX),
    type: clean(error.name, 200),
    retryable,
    ...(depth === 0 ? { timestamp: new Date().toISOString() } : {}),
    ...(error.stack === undefined || depth > 0 ? {} : { stack_trace: clean(error.stack, STACK_CHARS_MAX) }),
    ...(error.cause === undefined || depth >= CAUSES_MAX
      ? {}
      : { cause: describeError(error.cause, retryable, depth + 1) }),
  }
}

export function attemptError(code: AttemptErrorCode, message: string, retryable: boolean): SagaError {
  return { code, message, type: 'coordinator', retryable, timestamp: new Date().toISOString() }
}

/** [G5] retry_on names codes, types or names; without it every error is worth a retry but those that say otherwise. */
export function isRetryable(thrown: unknown, retryOn: readonly string[] | undefined): boolean {
  if (thrown instanceof NonRetryableError) return false
  if (retryOn === undefined) return true
  const { code, type, name } = (thrown ?? {}) as { code?: unknown; type?: unknown; name?: unknown }
  return [code, type, name].some((word) => typeof word === 'string' && retryOn.includes(word))
}

function clean(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/\p{Surrogate}|\0/gu, '\ufffd')
}
