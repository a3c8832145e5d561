import { explainAnswer, SagapostConnectionError } from './api-error.js'
import { isPassing, readRetryAfter, retryDelayMs } from './plan-retry.js'

/** The part of the platform's fetch that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface CallOptions {
  /** Ends the call, its retries included; it then throws the signal's reason. */
  signal?: AbortSignal
  /** For the whole call, its retries included; 30 s unless told. */
  timeoutMs?: number
  /** How often a call that may be repeated is repeated at the most; 3 unless told. */
  retries?: number
}

export interface PreparedRequest {
  method: string
  url: string
  headers: Headers
  body: string | undefined
  /** Sent twice, it does no more than sent once. */
  repeatable: boolean
}

/** The longest time that a timer of the platform can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Sends a request until it is answered with success, and returns the text of the answer. What may pass is tried again
 * as long as the time-out leaves room for the wait; then the last failure is thrown.
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

/** One attempt. An answer that breaks off while it is read is no answer. */
async function attemptRequest(fetch: Fetch, request: PreparedRequest, signal: AbortSignal): Promise<Outcome> {
  signal.throwIfAborted()
  const { url, method, headers, body } = request
  try {
    // A redirect would take the key along, or make a GET of a POST.
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
