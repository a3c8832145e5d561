import type { Dispatcher } from 'undici'
import { exchangeErrorCode } from './classify-failure.js'
import { ExcerptCollector } from './collect-excerpt.js'
import type { ConnectionPool } from './connection-pool.js'
import { type DeliveryErrorCode, DeliveryFailure } from './delivery-errors.js'
import { parseCallbackUrl } from './parse-callback-url.js'
import { readRetryAfter } from './read-retry-after.js'
import { isConnectionHeader } from './refuse-headers.js'
import { signatureHeaders } from './sign-request.js'
import type { SigningSecret } from './signing-secret.js'

export interface WebhookRequest {
  url: string
  /** The same for every attempt. */
  webhookId: string
  /** Sent byte for byte. */
  body: Buffer
  secrets: readonly SigningSecret[]
  /** The subscription's own headers, and sagapost-event-type, sagapost-attempt, traceparent and the correlation id. */
  headers: Readonly<Record<string, string>>
}

export type WebhookOutcome =
  | { delivered: true; responseStatus: number; durationMs: number; responseExcerpt: string }
  | {
      delivered: false
      errorCode: DeliveryErrorCode
      responseStatus?: number
      retryAfterS?: number
      durationMs: number
      responseExcerpt?: string
    }

/** The rest of a longer response is not read and the connection is dropped; its status still counts. */
const RESPONSE_BYTES_MAX = 64 * 1024

/** A legitimate receiver sends one or two (103 Early Hints); a flood would cost CPU until the deadline. */
const INTERIM_RESPONSES_MAX = 32

const RETRY_AFTER_STATUSES: readonly number[] = [429, 503]

/** One request, one deadline for all of it, one outcome. */
export function sendRequest(
  sender: { connections: ConnectionPool; requestTimeoutMs: number; userAgent: string },
  request: WebhookRequest,
  signal: AbortSignal | undefined,
): Promise<WebhookOutcome> {
  const startedAt = performance.now()
  const failed = (errorCode: DeliveryErrorCode): WebhookOutcome => ({
    delivered: false,
    errorCode,
    durationMs: durationSince(startedAt),
  })

  if (signal?.aborted) return Promise.resolve(failed('aborted'))
  const url = readUrl(request.url)
  if (!url) return Promise.resolve(failed('invalid_url'))
  const headers = requestHeaders(request, sender.userAgent)
  if (!headers) return Promise.resolve(failed('invalid_headers'))

  return new Promise((resolve) => {
    const excerpt = new ExcerptCollector()
    let drop = (_: DeliveryFailure) => {}
    let response: { status: number; retryAfterS: number | undefined } | undefined
    let interimResponses = 0
    let settled = false

    // `error` is absent when the response is complete, or read up to the limit.
    const settle = (error?: unknown) => {
      if (settled) return
      settled = true
      clearTimeout(deadline)
      signal?.removeEventListener('abort', abort)
      resolve(
        response
          ? answered(response, error, excerpt, durationSince(startedAt))
          : failed(exchangeErrorCode(error, false)),
      )
    }
    const giveUp = (failure: DeliveryFailure) => {
      if (settled) return
      settle(failure)
      drop(failure)
    }
    const abort = () => giveUp(new DeliveryFailure('aborted'))
    const deadline = setTimeout(() => giveUp(new DeliveryFailure('timeout')), sender.requestTimeoutMs)
    signal?.addEventListener('abort', abort, { once: true })

    const handler: Dispatcher.DispatchHandler = {
      // undici detects by this method which of its two interfaces the handler implements.
      onRequestStart() {},
      onResponseStart(_, status, received) {
        if (status < 200) {
          interimResponses += 1
          if (interimResponses > INTERIM_RESPONSES_MAX) giveUp(new DeliveryFailure('invalid_response'))
          return
        }
        response = {
          status,
          retryAfterS: RETRY_AFTER_STATUSES.includes(status)
            ? readRetryAfter(first(received['retry-after']), first(received['date']))
            : undefined,
        }
      },
      onResponseData(_, chunk) {
        excerpt.add(chunk)
        if (excerpt.bytesSeen <= RESPONSE_BYTES_MAX) return
        settle()
        drop(new DeliveryFailure('aborted'))
      },
      onResponseEnd: () => settle(),
      onResponseError: (_, error) => settle(error),
    }

    try {
      drop = sender.connections.dispatch(
        {
          origin: url.origin,
          path: url.path,
          method: 'POST',
          headers,
          body: request.body,
        },
        handler,
      )
    } catch (error) {
      settle(error)
    }
  })
}

interface RequestUrl {
  origin: string
  path: string
}

/**
 * Parsed URLs kept: endpoints are few compared with their requests, and parsing a URL takes 4 µs. The cache is bounded
 * to this number.
 */
const URLS_KEPT_MAX = 1_000
const urls = new Map<string, RequestUrl>()

function readUrl(text: string): RequestUrl | undefined {
  const known = urls.get(text)
  if (known) return known
  const parsed = parseCallbackUrl(text)
  if (!(parsed instanceof URL)) return undefined
  const url = { origin: parsed.origin, path: parsed.pathname + parsed.search }
  if (urls.size >= URLS_KEPT_MAX) urls.clear()
  urls.set(text, url)
  return url
}

/**
 * A failing status is the error however the body ended, since it may be 410 or carry Retry-After. A 2xx counts only
 * with its whole response (or the first 64 KiB): a receiver that breaks off has not confirmed the delivery.
 */
function answered(
  { status, retryAfterS }: { status: number; retryAfterS: number | undefined },
  error: unknown,
  excerpt: ExcerptCollector,
  durationMs: number,
): WebhookOutcome {
  const succeeded = status >= 200 && status < 300
  const shared = { responseStatus: status, durationMs, responseExcerpt: excerpt.text() }
  if (succeeded && error === undefined) return { delivered: true, ...shared }
  const errorCode = succeeded ? exchangeErrorCode(error, true) : (`http_${status}` as const)
  return { delivered: false, errorCode, ...shared, ...(retryAfterS !== undefined && { retryAfterS }) }
}

/** All headers except `host`, `connection` and `content-length`; undefined when one of them is not allowed. */
function requestHeaders(request: WebhookRequest, userAgent: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const [field, value] of Object.entries(request.headers)) {
    const name = field.toLowerCase()
    if (isConnectionHeader(name)) return undefined
    headers[name] = value
  }
  // Last, so that outside values cannot replace these.
  return Object.assign(
    headers,
    { 'content-type': 'application/json', 'user-agent': userAgent },
    signatureHeaders({
      webhookId: request.webhookId,
      timestampS: Math.floor(Date.now() / 1000),
      body: request.body,
      secrets: request.secrets,
    }),
  )
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function durationSince(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
