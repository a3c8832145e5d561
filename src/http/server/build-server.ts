import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyReply } from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { createAuthenticator, createEndedSessions } from '../../api-keys/index.js'
import { createEventStore } from '../../delivery/index.js'
import { answerBrokenRequest, answerError, readRest, sendProblem } from '../answer-errors.js'
import type { Api, ApiOptions, StateOptions } from '../api.js'
import { describeApi } from '../describe-api.js'
import { noteIngested } from '../note-ingested.js'
import { problem, refuse } from '../problem.js'
import { readValue } from '../read-body.js'
import { refuseNul } from '../refuse-nul.js'
import { refuseUnasked } from '../refuse-unasked.js'
import { createScopeCheck } from '../require-scope.js'
import {
  addDashboardRoutes,
  addDeadLetterRoutes,
  addDeliveryRoutes,
  addDocsRoutes,
  addEventReadRoutes,
  addLiveRoutes,
  addPublishRoutes,
  addSagaRoutes,
  addSessionRoutes,
  addSignalRoutes,
  addStateRoutes,
  addSubscriptionActionRoutes,
  addSubscriptionRoutes,
  addSystemRoutes,
} from '../routes/index.js'
import { createSessions } from '../sessions.js'

/** For everything but events, which have limits of their own. */
const BODY_BYTES_MAX = 256 * 1024
/** For the whole of a request to arrive, however slowly it drips. */
const REQUEST_MS_MAX = 30_000
/** How often the server looks for requests that are late, as a share of the time that they have. */
const LATE_CHECK_SHARE = 0.1

/** Answers are data: nothing in them is run, framed, kept or guessed at. The page of the docs has a policy of its own. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The server with all its routes, not listening yet. */
export async function buildServer(options: ApiOptions): Promise<Api> {
  const { pools, log, onEventsStored = () => {}, onPartitionMissing = () => {} } = options
  const sessions = createSessions(options.masterKey, createEndedSessions(pools.keys))
  const api = buildBase({ ...options, sessions })
  describeApi(api)
  const store = createEventStore({ pool: pools.ingest, log, onEventsStored, onPartitionMissing })
  await api.register(async (scope) =>
    addPublishRoutes(scope.withTypeProvider<ZodTypeProvider>(), {
      store,
      note: noteIngested(options),
      ...(options.requireIdempotencyKey === undefined ? {} : { requireKey: options.requireIdempotencyKey }),
    }),
  )
  addEventReadRoutes(api, options)
  addSubscriptionRoutes(api, options)
  addSubscriptionActionRoutes(api, options)
  addDeliveryRoutes(api, options)
  addDeadLetterRoutes(api, options)
  addSagaRoutes(api, options)
  addSignalRoutes(api, options)
  addSystemRoutes(api, options)
  addLiveRoutes(api, options)
  addStateRoutes(api, options)
  addDocsRoutes(api)
  addSessionRoutes(api, sessions)
  await addDashboardRoutes(api)
  return api
}

/** Health, readiness and metrics alone, for a process without the API. */
export function buildStateServer(options: StateOptions): Api {
  const api = buildBase(options)
  addStateRoutes(api, options)
  return api
}

/** What all answers have in common: who may ask, how refusals look, and the headers. */
function buildBase({
  pools,
  apiKey,
  log,
  metrics,
  sessions,
  trustedProxies = [],
  requestMsMax = REQUEST_MS_MAX,
}: StateOptions): Api {
  const api = fastify({
    bodyLimit: BODY_BYTES_MAX,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    requestTimeout: requestMsMax,
    http: {
      // Node gives the body the longer of the two times, and the head's is a minute unless told.
      headersTimeout: requestMsMax,
      connectionsCheckingInterval: requestMsMax * LATE_CHECK_SHARE,
      // Refused below, with a problem; Node's own answer is empty.
      requireHostHeader: false,
    },
    // Connections that wait for nothing are closed at once; requests under way are finished, and new ones on their
    // connections are still served.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply as FastifyReply)
      answerError(error, request, reply as FastifyReply, log)
    },
  }).withTypeProvider<ZodTypeProvider>()
  // An expectation that nobody knows is none; Node would answer with an empty 417.
  api.server.on('checkExpectation', (request, response) => api.server.emit('request', request, response))
  api.setValidatorCompiler(validatorCompiler)
  api.setSerializerCompiler(serializerCompiler)
  api.setErrorHandler((error, request, reply) => answerError(error, request, reply, log))
  api.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]?.slice(0, 200)
    sendProblem(reply, problem('not_found', `there is no ${request.method} ${path}`))
  })
  api.removeAllContentTypeParsers()
  api.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => readValue(body),
  )

  const authenticator = createAuthenticator({ pool: pools.keys, apiKey })
  const checkScope = createScopeCheck(authenticator, sessions)
  api.decorateRequest('caller', null)
  api.decorateRequest('isStillAllowed', () => Promise.resolve(false))
  // Hooks that wait for nobody are called back, not promised: each promise is one more turn for every post.
  api.addHook('onRequest', (request, reply, done) => {
    setSecurityHeaders(reply)
    refuseNoHost(request.raw)
    const checking = checkScope(request)
    if (checking) return checking
    done()
  })
  api.addHook('onRequest', (request, _reply, done) => {
    // The body of these is never read.
    if (request.method !== 'GET' && request.method !== 'HEAD')
      refuseEncoding(request.headers['content-encoding'])
    done()
  })
  api.addHook('preValidation', (request, _reply, done) => {
    refuseUnasked(request)
    refuseNul(request)
    done()
  })
  api.addHook('onResponse', (request, reply, done) => {
    const { url: route, config } = request.routeOptions
    if (!config.isStream) {
      const { method } = request
      metrics?.httpRequest({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime })
    }
    done()
  })
  api.addHook('onSend', readRest)
  closeWithTheAnswer(api)
  api.addHook('onClose', () => authenticator.close())

  return api
}

function setSecurityHeaders(reply: FastifyReply): void {
  reply.headers(securityHeaders)
}

/** While the server stops, each answer ends its connection, or the server would wait for the client to do so. */
function closeWithTheAnswer(api: Api): void {
  api.decorate('isStopping', false)
  api.addHook('preClose', async () => {
    api.isStopping = true
  })
  api.addHook('onSend', (_request, reply, _payload, done) => {
    if (api.isStopping) reply.header('connection', 'close')
    done()
  })
}

/** RFC 9112: a request of HTTP/1.1 names its host. */
function refuseNoHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === '1.1' && headers.host === undefined) {
    throw refuse('request_malformed', 'the Host header is missing')
  }
}

/** Nothing is unpacked here: a small body could hold a large one. */
function refuseEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding === 'identity') return
  throw refuse('content_type_unsupported', `the content encoding "${encoding.slice(0, 40)}" is not supported`)
}
