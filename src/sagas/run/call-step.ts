import { encodeJson } from '../json.js'
import type { RetryPolicy } from '../retry-policy.js'
import { attemptError, describeError, isRetryable, type SagaError } from '../saga-error.js'

/** Why a call is stopped from outside. */
export type StopReason = 'cancelled' | 'overdue' | 'lost' | 'stopping' | 'branch_failed'

export class StopSignal extends Error {
  override readonly name = 'AbortError'
  readonly why: StopReason | 'timed_out'

  constructor(why: StopReason | 'timed_out', message: string) {
    super(message)
    this.why = why
  }
}

export type CallOutcome =
  | { readonly ok: true; readonly output: string | undefined }
  | { readonly ok: false; readonly error: SagaError }
  /** The lease was lost or the process is stopping: the outcome is unknown, and nothing is written about it. */
  | { readonly ok: 'given_up' }

export interface StepCall {
  readonly call: (signal: AbortSignal) => unknown
  readonly retry: RetryPolicy
  readonly timeoutMs: number | undefined
  readonly outer: AbortSignal
  /** How long a call may take to end after its signal was aborted. */
  readonly graceMs: number
}

/** Calls a step or its undo and returns the outcome. A call that succeeds despite the abort counts as a success. */
export async function callStep({ call, retry, timeoutMs, outer, graceMs }: StepCall): Promise<CallOutcome> {
  const controller = new AbortController()
  const stop = () => controller.abort(outer.reason)
  if (outer.aborted) stop()
  outer.addEventListener('abort', stop, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => controller.abort(new StopSignal('timed_out', `it took longer than ${timeoutMs} ms`)),
          timeoutMs,
        )
  let graceTimer: NodeJS.Timeout | undefined
  const graceOver = new Promise<'grace_over'>((resolve) => {
    const begin = () => {
      graceTimer = setTimeout(() => resolve('grace_over'), graceMs)
    }
    if (controller.signal.aborted) begin()
    else controller.signal.addEventListener('abort', begin, { once: true })
  })
  const called = Promise.resolve()
    .then(() => call(controller.signal))
    .then(
      (value) => ({ value }) as const,
      (thrown: unknown) => ({ thrown }) as const,
    )
  try {
    const ended = await Promise.race([called, graceOver])
    if (ended !== 'grace_over' && 'value' in ended) return readOutput(ended.value)
    if (controller.signal.aborted) return explainStop(controller.signal.reason, retry)
    const thrown = ended === 'grace_over' ? undefined : ended.thrown
    return { ok: false, error: describeError(thrown, isRetryable(thrown, retry.retry_on)) }
  } finally {
    clearTimeout(timer)
    clearTimeout(graceTimer)
    outer.removeEventListener('abort', stop)
  }
}

function readOutput(value: unknown): CallOutcome {
  try {
    return { ok: true, output: encodeJson(value) }
  } catch (error) {
    // It ran, and would return the same again.
    return {
      ok: false,
      error: { ...describeError(error, false), code: 'output_invalid', type: 'coordinator' },
    }
  }
}

function explainStop(reason: unknown, retry: RetryPolicy): CallOutcome {
  const { why, message } = reason as StopSignal
  switch (why) {
    case 'timed_out': {
      const retryable = isRetryable({ code: 'step_timed_out', type: 'timeout' }, retry.retry_on)
      return { ok: false, error: attemptError('step_timed_out', message, retryable) }
    }
    case 'cancelled':
      return { ok: false, error: attemptError('saga_cancelled', message, false) }
    case 'overdue':
      return { ok: false, error: attemptError('saga_timed_out', message, false) }
    case 'branch_failed':
      return { ok: false, error: attemptError('branch_stopped', message, false) }
    default:
      return { ok: 'given_up' }
  }
}
