import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyOutcome, createAnswerer, type HandlerOptions } from './answer-request.js'
import { WebhookVerificationError } from './verification-error.js'

/**
 * Of a body that is too large the rest is read and dropped, so that the sender gets to see the answer; of one
 * that is larger than this, nobody waits for the end.
 */
const DROPPED_BYTES_MAX = 16 * 1024 * 1024

/** A listener for node:http and node:https, and a handler for Express and whatever else hands on their requests. */
export function nodeHandler<Request extends IncomingMessage = IncomingMessage>(
  options: HandlerOptions<Request>,
): (request: Request, response: ServerResponse) => Promise<void> {
  const answerRequest = createAnswerer(options)
  return async (request, response) => {
    const answer = await answerRequest({
      request,
      method: request.method,
      headers: request.headers,
      readBody: (bytesMax) => bodyReadBefore(request) ?? readStream(request, bytesMax),
    })
    if (response.headersSent || response.destroyed) return // a time-out of the application's was faster
    const connection = answer.status === 413 ? { connection: 'close' } : {}
    response.writeHead(answer.status, { ...answer.headers, ...connection }).end(answer.body)
  }
}

/**
 * The bytes that something before us has kept: `rawBody` (serverless platforms, Nest) or `body` (express.raw).
 * A body that was parsed is no use: written again, its bytes would not be those that were signed.
 */
function bodyReadBefore(request: IncomingMessage): BodyOutcome | undefined {
  const { rawBody, body } = request as { rawBody?: unknown; body?: unknown }
  for (const kept of [rawBody, body]) {
    if (typeof kept === 'string' || ArrayBuffer.isView(kept)) return { body: kept as string | Uint8Array }
  }
  if (!request.readableDidRead && !request.readableEnded) return undefined
  throw new WebhookVerificationError(
    'body_consumed',
    'The body was read before the webhook handler, which needs its bytes: ' +
      "put the handler before express.json(), or express.raw({ type: '*/*' }) before the handler",
  )
}

function readStream(request: IncomingMessage, bytesMax: number): Promise<BodyOutcome> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else chunks.length = 0
      if (bytes > bytesMax + DROPPED_BYTES_MAX) resolve({ refused: 'body_too_large' })
    })
    request.on('end', () => {
      resolve(bytes > bytesMax ? { refused: 'body_too_large' } : { body: Buffer.concat(chunks) })
    })
    // After `end` neither of these changes anything.
    request.on('error', () => resolve({ refused: 'body_incomplete' }))
    request.on('close', () => resolve({ refused: 'body_incomplete' }))
  })
}
