import { type BodyOutcome, createAnswerer, type HandlerOptions } from './answer-request.js'
import { WebhookVerificationError } from './verification-error.js'

/** A function from Request to Response: Hono, Next route handlers, Bun, Deno. */
export function fetchHandler(options: HandlerOptions<Request>): (request: Request) => Promise<Response> {
  const answerRequest = createAnswerer(options)
  return async (request) => {
    const { status, headers, body } = await answerRequest({
      request,
      method: request.method,
      headers: request.headers,
      readBody: (bytesMax) => readBody(request, bytesMax),
    })
    return new Response(status === 204 ? null : body, { status, headers })
  }
}

async function readBody(request: Request, bytesMax: number): Promise<BodyOutcome> {
  if (request.bodyUsed) {
    throw new WebhookVerificationError(
      'body_consumed',
      'The body was read before the webhook handler, which needs its bytes: pass it request.clone() or the unread request',
    )
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = request.body?.getReader()
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done || value === undefined) return { body: Buffer.concat(chunks) }
      bytes += value.byteLength
      if (bytes > bytesMax) {
        // The response must not wait for the cancelled stream.
        reader?.cancel().catch(() => {})
        return { refused: 'body_too_large' }
      }
      chunks.push(value)
    }
  } catch {
    return { refused: 'body_incomplete' }
  }
}
