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

/** Body limit of all calls except events, which have their own. */
const BODY_BYTES_MAX = 256 * 1024
/** Time limit for receiving a whole request. */
const REQUEST_MS_MAX = 30_000
/** The check interval for late requests, as a fraction of their time limit. */
const LATE_CHECK_SHARE = 0.1

/** Responses are data: not executed, framed, cached or sniffed. The documentation page has its own policy. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Builds the server with all routes, not yet listening. */
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

/** Only health, readiness and metrics, for a process without the API. */
export function buildStateServer(options: StateOptions): Api {
  const api = buildBase(options)
  addStateRoutes(api, options)
  return api
}

/** Common to all routes: authentication, error responses and headers. */
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
      // Node applies the longer of the two limits to the body, and the header limit defaults to a minute.
      headersTimeout: requestMsMax,
      connectionsCheckingInterval: requestMsMax * LATE_CHECK_SHARE,
      // Refused below with problem details; Node's own response is empty.
      requireHostHeader: false,
    },
    // Idle connections are closed at once; requests in flight finish, and later ones on their connections are served.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply as FastifyReply)
      answerError(error, request, reply as FastifyReply, log)
    },
  }).withTypeProvider<ZodTypeProvider>()
  // An unknown Expect header is ignored; Node would respond with an empty 417.
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
  // Synchronous hooks use callbacks: a promise would cost every request a turn.
  api.addHook('onRequest', (request, reply, done) => {
    setSecurityHeaders(reply)
    refuseNoHost(request.raw)
    const checking = checkScope(request)
    if (checking) return checking
    done()
  })
  api.addHook('onRequest', (request, _reply, done) => {
    // The body of these methods is never read.
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

/** While the server stops, each response closes its connection, so that it does not wait for the client. */
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

/** RFC 9112: an HTTP/1.1 request must have a Host header. */
function refuseNoHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === '1.1' && headers.host === undefined) {
    throw refuse('request_malformed', 'the Host header is missing')
  }
}

/** Compressed bodies are refused: a small one could expand to a large one. */
function refuseEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding === 'identity') return
  throw refuse('content_type_unsupported', `the content encoding "${encoding.slice(0, 40)}" is not supported`)
}
