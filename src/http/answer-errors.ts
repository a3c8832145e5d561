import type { Socket } from 'node:net'
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { outageOf } from '../database/index.js'
import { errorCatalogue } from '../errors/index.js'
import { explainError } from './explain-error.js'
import { type Problem, ProblemError, problem } from './problem.js'

export const PROBLEM_TYPE = 'application/problem+json'

/** Retry-After of temporary errors: outages rarely end sooner, and retrying clients add jitter. */
const RETRY_AFTER_S = 2

const SERVER_ERROR = 500
const UNAVAILABLE = 503

/** The only place where an error becomes a response. Only server faults are logged as errors. */
export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  const answer = explainError(error)
  const what = { err: error, method: request.method, route: request.routeOptions.url, code: answer.code }
  if (answer.status === SERVER_ERROR) log.error(what, 'a request failed')
  else if (answer.status === UNAVAILABLE) {
    // One outage fails thousands of requests: the watch logs it once (src/database/database-watch.ts).
    const level = outageOf(error) ? 'debug' : 'warn'
    log[level](what, 'a request could not be served')
  }
  if (error instanceof ProblemError) reply.headers(error.headers)
  return sendProblem(reply, answer)
}

export function sendProblem(reply: FastifyReply, answer: Problem): FastifyReply {
  if (answer.status === UNAVAILABLE && !reply.hasHeader('retry-after'))
    reply.header('retry-after', RETRY_AFTER_S)
  return reply.code(answer.status).type(PROBLEM_TYPE).send(JSON.stringify(answer))
}

/** How long a client has to read the refusal before the connection is closed. */
const LINGER_MS = 1_000
/** Time limits for the rest of a refused body, and for a pause in it. */
const REST_MS = 5_000
const REST_PAUSE_MS = 500

/**
 * Discards the rest of a refused body before responding: closing a connection with unread bytes resets it, and a client
 * that is still writing would not receive the response.
 */
export function readRest(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  // Fastify closes the connection after the response when the body is unread.
  if (raw.complete || reply.getHeader('connection') !== 'close') {
    done()
    return
  }
  const answer = () => {
    clearTimeout(end)
    clearTimeout(pause)
    clearImmediate(look)
    raw.off('data', goOn).off('end', answer).off('close', answer)
    done()
  }
  const end = setTimeout(answer, REST_MS)
  // An expired timer runs before pending reads: a process that was busy checks once more for bytes that have arrived.
  let look: NodeJS.Immediate | undefined
  const pause = setTimeout(() => {
    look = setImmediate(answer)
  }, REST_PAUSE_MS)
  const goOn = () => {
    clearImmediate(look)
    pause.refresh()
  }
  raw.on('data', goOn).on('end', answer).on('close', answer).resume()
}

/** Requests that are malformed or late are answered on the raw socket. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const detail =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? 'the request was not received in time'
      : errorCatalogue.request_malformed.title
  const body = JSON.stringify(problem('request_malformed', detail))
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n${body}`,
  )
  const linger = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(linger))
}
