import { explainAnswer, SagapostConnectionError } from './api-error.js'
import { isPassing, readRetryAfter, retryDelayMs } from './plan-retry.js'

/** The subset of the platform's fetch that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface CallOptions {
  /** Aborts the call and its retries; the call then throws the signal's reason. */
  signal?: AbortSignal
  /** Time limit of the whole call, retries included; default 30 s. */
  timeoutMs?: number
  /** The maximum number of retries of a repeatable call; default 3. */
  retries?: number
}

export interface PreparedRequest {
  method: string
  url: string
  headers: Headers
  body: string | undefined
  /** Safe to repeat: sending it twice has the effect of sending it once. */
  repeatable: boolean
}

/** The longest delay of a platform timer. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Sends a request until it succeeds, and returns the text of the response. Temporary failures are retried while the
 * time-out leaves room for the delay; then the last failure is thrown.
 */
export async function sendRequest(
  fetch: Fetch,
  request: PreparedRequest,
  { signal, timeoutMs, retries }: { signal?: AbortSignal | undefined; timeoutMs: number; retries: number },
): Promise<string> {
  const deadline = Date.now() + timeoutMs
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  const timer = setTimeout(() => stop.abort(timedOut(request, timeoutMs)), Math.min(timeoutMs, TIMER_MS_MAX))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await attemptRequest(fetch, request, stop.signal)
      if ('text' in outcome) return outcome.text
      const delayMs = retryDelayMs(attempt, outcome.retryAfterS)
      const again = request.repeatable && outcome.passing && attempt <= retries
      if (!again || Date.now() + delayMs >= deadline) throw outcome.error
      await wait(delayMs, stop.signal)
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

type Outcome = { text: string } | { error: Error; passing: boolean; retryAfterS?: number | undefined }

/** One attempt. A response that is cut off counts as none. */
async function attemptRequest(fetch: Fetch, request: PreparedRequest, signal: AbortSignal): Promise<Outcome> {
  signal.throwIfAborted()
  const { url, method, headers, body } = request
  try {
    // A redirect would forward the key, or turn a POST into a GET.
    const init: RequestInit = { method, headers, signal, redirect: 'manual' }
    const response = await fetch(url, body === undefined ? init : { ...init, body })
    const text = await response.text()
    if (response.ok) return { text }
    const { status } = response
    const retryAfterS = readRetryAfter(response.headers.get('retry-after'))
    return { error: explainAnswer({ status, text, retryAfterS }), passing: isPassing(status), retryAfterS }
  } catch (error) {
    signal.throwIfAborted()
    return { error: unreachable(request, error), passing: true }
  }
}

function unreachable({ url }: PreparedRequest, error: unknown): SagapostConnectionError {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string }
  const why = cause?.code ?? cause?.message ?? message ?? String(error)
  return new SagapostConnectionError(
    'server_unreachable',
    `Sagapost at ${new URL(url).origin} cannot be reached: ${why}`,
    { cause: error },
  )
}

function timedOut({ url }: PreparedRequest, timeoutMs: number): SagapostConnectionError {
  return new SagapostConnectionError(
    'server_timed_out',
    `Sagapost at ${new URL(url).origin} did not answer within ${timeoutMs} ms`,
  )
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
