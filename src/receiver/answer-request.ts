import { parseSecrets, type Secrets } from './parse-secrets.js'
import type { WebhookEvent } from './read-event.js'
import type { WebhookHeaders } from './read-header.js'
import { type WebhookErrorCode, WebhookVerificationError } from './verification-error.js'
import { type VerifyOptions, verifyWithKeys } from './verify.js'

export interface HandlerOptions<Request> extends VerifyOptions {
  /** One secret, several during a rotation, or a function that returns those for the request (`[]` for none). */
  secret: Secrets | ((request: Request) => Secrets | Promise<Secrets>)
  /** Called for every verified event, and only for events. The response is 204 when it returns, 500 when it throws. */
  onEvent: (event: WebhookEvent, request: Request) => unknown
  /** Called for every refusal and failure. By default, failures of the receiver are printed. */
  onError?: ((error: unknown, request: Request) => void) | undefined
  /** Default 1 MiB, the limit of Sagapost's API. */
  bodyBytesMax?: number | undefined
}

/** A request of any framework, with access to the bytes of its body. */
export interface IncomingWebhook<Request> {
  request: Request
  method: string | undefined
  headers: WebhookHeaders
  /** May throw `body_consumed`. */
  readBody: (bytesMax: number) => Promise<BodyOutcome> | BodyOutcome
}

export type BodyOutcome = { body: Uint8Array | string } | { refused: 'body_too_large' | 'body_incomplete' }

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

export const BODY_BYTES_MAX = 1024 * 1024

/** 401: not signed with a known secret. 400: not a webhook. 500: an error of the receiver, so the sender retries. */
const statuses: Record<WebhookErrorCode, number> = {
  missing_headers: 401,
  bad_id: 400,
  bad_timestamp: 400,
  timestamp_out_of_range: 401,
  no_matching_signature: 401,
  bad_payload: 400,
  bad_secret: 500,
  body_consumed: 500,
}

/** Handles a request of any framework. The returned function never rejects. */
export function createAnswerer<Request>(
  options: HandlerOptions<Request>,
): (incoming: IncomingWebhook<Request>) => Promise<Answer> {
  const { secret, onEvent, onError = printOwnFaults, bodyBytesMax = BODY_BYTES_MAX } = options
  const findKeys = createKeyFinder(secret)

  async function answer({ request, method, headers, readBody }: IncomingWebhook<Request>): Promise<Answer> {
    if (method !== 'POST') {
      const refusal = problem(405, 'method_not_allowed', 'Webhooks are sent with POST')
      return { ...refusal, headers: { ...refusal.headers, allow: 'POST' } }
    }
    const outcome = await readBody(bodyBytesMax)
    if ('refused' in outcome && outcome.refused === 'body_incomplete') {
      return problem(400, 'body_incomplete', 'The request was incomplete')
    }
    if ('refused' in outcome || Buffer.byteLength(outcome.body) > bodyBytesMax) return tooLarge(bodyBytesMax)

    const event = verifyWithKeys(headers, outcome.body, await findKeys(request), options)
    if (event.kind === 'verification') return json(200, { challenge: event.challenge })
    if (event.kind === 'event') await onEvent(event, request)
    return { status: 204, headers: {}, body: '' }
  }

  return async (incoming) => {
    try {
      return await answer(incoming)
    } catch (error) {
      try {
        onError(error, incoming.request)
      } catch {} // an error of the callback must not change the response
      if (!(error instanceof WebhookVerificationError)) {
        return problem(500, 'handler_failed', 'The receiver failed; try again')
      }
      return problem(statuses[error.code], error.code, error.message)
    }
  }
}

export function tooLarge(bytesMax: number): Answer {
  return problem(413, 'body_too_large', `The receiver accepts at most ${bytesMax} bytes`)
}

/** Parses fixed secrets in advance, so that an invalid one fails at the start. */
function createKeyFinder<Request>(secret: HandlerOptions<Request>['secret']) {
  if (typeof secret === 'function') return async (request: Request) => parseSecrets(await secret(request))
  const keys = parseSecrets(secret)
  if (keys.length === 0) throw new WebhookVerificationError('bad_secret', 'The list of secrets is empty')
  return () => keys
}

function printOwnFaults(error: unknown): void {
  if (error instanceof WebhookVerificationError && statuses[error.code] < 500) return
  console.error(error)
}

/** Problem details (RFC 9457). Sagapost stores an excerpt with the attempt for operators. */
function problem(status: number, code: string, detail: string): Answer {
  return json(status, { status, code, detail }, 'application/problem+json')
}

function json(status: number, value: unknown, type = 'application/json'): Answer {
  return { status, headers: { 'content-type': type }, body: JSON.stringify(value) }
}
