import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import {
  type Answer,
  BODY_BYTES_MAX,
  createAnswerer,
  type HandlerOptions,
  tooLarge,
} from './answer-request.js'

/**
 * One route at the plugin's prefix. Its parser reads every content type as bytes. Fastify scopes the parser and the error
 * handler to this plugin, so that the application's other routes are unaffected.
 */
export const fastifyPlugin: FastifyPluginAsync<HandlerOptions<FastifyRequest>> = async (app, options) => {
  const answerRequest = createAnswerer(options)
  const bodyLimit = options.bodyBytesMax ?? BODY_BYTES_MAX

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.setErrorHandler<Error & { code?: string }>((error, _request, reply) => {
    if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') throw error
    return send(reply, tooLarge(bodyLimit))
  })

  app.all('/', { bodyLimit }, async (request, reply) => {
    const { method, headers, body } = request
    const answer = await answerRequest({
      request,
      method,
      headers,
      readBody: () => ({ body: (body as Buffer | undefined) ?? Buffer.alloc(0) }),
    })
    return send(reply, answer)
  })
}

function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .send(body === '' ? undefined : body)
}
