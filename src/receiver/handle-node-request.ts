import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyOutcome, createAnswerer, type HandlerOptions } from './answer-request.js'
import { WebhookVerificationError } from './verification-error.js'

/**
 * The rest of a body that is too large is read and discarded, so that the sender receives the response. Beyond this size
 * the connection is closed.
 */
const DROPPED_BYTES_MAX = 16 * 1024 * 1024

/** A listener for node:http and node:https, and a handler for Express and compatible frameworks. */
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
    if (response.headersSent || response.destroyed) return // a time-out of the application came first
    const connection = answer.status === 413 ? { connection: 'close' } : {}
    response.writeHead(answer.status, { ...answer.headers, ...connection }).end(answer.body)
  }
}

/**
 * The bytes kept by earlier middleware: `rawBody` (serverless platforms, Nest) or `body` (express.raw). A parsed body
 * cannot be used: serialized again, its bytes differ from the signed ones.
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
    // After `end` neither event matters.
    request.on('error', () => resolve({ refused: 'body_incomplete' }))
    request.on('close', () => resolve({ refused: 'body_incomplete' }))
  })
}
