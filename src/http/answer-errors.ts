import type { Socket } from 'node:net'
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { outageOf } from '../database/index.js'
import { errorCatalogue } from '../errors/index.js'
import { explainError } from './explain-error.js'
import { type Problem, ProblemError, problem } from './problem.js'

export const PROBLEM_TYPE = 'application/problem+json'

/** When to ask again: what is away or full is rarely back sooner, and clients that retry spread themselves. */
const RETRY_AFTER_S = 2

const SERVER_ERROR = 500
const UNAVAILABLE = 503

/** The one place where a refusal becomes an answer. Only what is our own fault is logged as an error. */
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
    // Thousands of clients meet one outage: the watch tells of it (src/database/database-watch.ts).
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

/** How long a client has to read why it was refused; then the connection goes, whatever it still sends. */
const LINGER_MS = 1_000
/** How long the rest of a refused body may take, and how long a pause in it ends it. */
const REST_MS = 5_000
const REST_PAUSE_MS = 500

/**
 * Drops what still comes of a body that was refused, and answers then: a connection that is closed on unread bytes is reset,
 * and a client that was still writing would never see why.
 */
export function readRest(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  // Fastify closes the connection with the answer where it has not read the body.
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
  // A timer that is over comes before the bytes that are there: a process that was busy for so long looks for them once more.
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

/** What is not HTTP, or does not arrive in time, is answered on the bare socket. */
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
