import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SagapostError } from '../errors/index.js'
import type { ServerCertificate } from './make-certificate.js'
import { type ListenedRequest, readListenedRequest } from './read-listened-request.js'

export interface ListenerOptions {
  certificate: ServerCertificate
  host: string
  /** 0 selects a free port. */
  port: number
  /** Called for every request. Without secrets, requests are answered but count as unverified. */
  secrets: () => readonly string[]
  /** The response to an accepted delivery or test request; by default 200 at once. */
  respond?: (request: ListenedRequest) => { status: number; delayMs: number }
  /** Called after the response. `status` is null when the sender disconnected first. */
  onRequest: (request: ListenedRequest & { status: number | null }) => void
  /** Usually a sender that does not trust the certificate. */
  onHandshakeFailed?: (reason: string) => void
}

export interface Listener {
  url: string
  stop(): Promise<void>
}

const BODY_BYTES_MAX = 16 * 1024 * 1024

/** An HTTPS receiver for development. It always answers valid challenges. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { certificate, host, port, secrets, respond = () => ({ status: 200, delayMs: 0 }) } = options

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (incoming.method !== 'POST') {
      outgoing.writeHead(405, { allow: 'POST' }).end('Webhooks are sent with POST\n')
      return
    }
    const body = await readBody(incoming)
    if (body === undefined) {
      outgoing.writeHead(413, { connection: 'close' }).end(`At most ${BODY_BYTES_MAX} bytes\n`)
      return
    }
    const request = readListenedRequest(incoming, body, secrets())
    const { status, delayMs, text } = decide(request)
    if (delayMs > 0) await sleepUntilClosed(delayMs, outgoing)
    const hungUp = outgoing.destroyed
    if (!hungUp) outgoing.writeHead(status, { 'content-type': typeOf(text) }).end(text)
    options.onRequest({ ...request, status: hungUp ? null : status })
  }

  function decide(request: ListenedRequest): { status: number; delayMs: number; text: string } {
    if (request.verified === false) return { status: 401, delayMs: 0, text: `${request.refusal}\n` }
    if (request.challenge !== null) {
      return { status: 200, delayMs: 0, text: JSON.stringify({ challenge: request.challenge }) }
    }
    const { status, delayMs } = respond(request)
    return {
      status,
      delayMs,
      text: status < 300 ? '' : `sagapost listen is configured to answer ${status}\n`,
    }
  }

  const server = createServer({ cert: certificate.certificate, key: certificate.privateKey })
  server.on('request', (incoming, outgoing) => {
    // Fails only when the sender disconnects, and then no response is needed.
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.on('tlsClientError', (error: Error & { reason?: string }) =>
    options.onHandshakeFailed?.(error.reason ?? error.message),
  )
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw explainListenError(error, host, port)
  }
  const bound = (server.address() as AddressInfo).port
  return {
    url: `https://${reachable(host)}:${bound}/`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The host as written in a URL; a wildcard address becomes the loopback address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}

/** Undefined when it is too large. */
async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Waits for the time, or until the sender disconnects. */
async function sleepUntilClosed(delayMs: number, outgoing: ServerResponse): Promise<void> {
  const closed = new AbortController()
  outgoing.once('close', () => closed.abort())
  await sleep(delayMs, undefined, { signal: closed.signal }).catch(() => {})
}

function typeOf(text: string): string {
  return text.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8'
}

function explainListenError(error: unknown, host: string, port: number): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new SagapostError('config_invalid', `--port ${port} on ${host} is in use by another program`)
    case 'EACCES':
      return new SagapostError('config_invalid', `--port ${port} on ${host} may not be used by this user`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new SagapostError('config_invalid', `--host ${host} is not an address of this machine`)
    default:
      return error
  }
}
