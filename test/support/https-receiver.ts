import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { makeCertificate, type ServerCertificate } from '../../src/cli/make-certificate.js'

export interface ReceivedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  at: Date
  /** The caller's: one for each connection. */
  port: number | undefined
}

export interface ReceiverResponse {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
  delayMs?: number
}

export interface Receiver {
  /** `https://127.0.0.1:<port>/` */
  url: string
  port: number
  /** PEM, for `extraCertificateAuthorities`. */
  certificateAuthority: string
  /** Whole requests, in the order in which they were complete. */
  requests: ReceivedRequest[]
  /** How many connections were ever accepted. */
  connectionsMade(): number
  connectionsOpen(): number
  /** How many of those made went on with an earlier TLS session, without a certificate. */
  sessionsResumed(): number
  stop(): Promise<void>
}

let shared: Promise<ServerCertificate> | undefined

/**
 * A real HTTPS receiver on loopback that records everything and answers 200, or what `respond` says. All
 * receivers of a test file share one certificate, so one authority trusts them all.
 */
export async function startReceiver(
  options: {
    respond?: (request: ReceivedRequest) => ReceiverResponse | Promise<ReceiverResponse>
    certificate?: ServerCertificate
    port?: number
    /** Of another receiver, so that its sessions can be resumed here. */
    ticketKeys?: Buffer
    /** How long it leaves an idle connection open. */
    keepAliveMs?: number
  } = {},
): Promise<Receiver> {
  shared ??= makeCertificate()
  const certificate = options.certificate ?? (await shared)
  const requests: ReceivedRequest[] = []
  const sockets = new Set<TLSSocket>()
  let connectionsMade = 0
  let sessionsResumed = 0

  const { port: wantedPort = 0, ticketKeys } = options
  const server = createServer({
    cert: certificate.certificate,
    key: certificate.privateKey,
    ...(ticketKeys && { ticketKeys }),
  })
  if (options.keepAliveMs !== undefined) server.keepAliveTimeout = options.keepAliveMs
  server.on('request', (incoming, outgoing) => {
    const chunks: Buffer[] = []
    // A sender that gives up breaks the connection; the request is then not whole, and not recorded.
    incoming.on('error', () => {})
    outgoing.on('error', () => {})
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', async () => {
      const request: ReceivedRequest = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks),
        at: new Date(),
        port: incoming.socket.remotePort,
      }
      requests.push(request)
      const { status = 200, headers = {}, body = '', delayMs = 0 } = (await options.respond?.(request)) ?? {}
      const answer = () => outgoing.writeHead(status, headers).end(body)
      if (delayMs > 0) setTimeout(answer, delayMs).unref()
      else answer()
    })
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    connectionsMade += 1
    if (socket.isSessionReused()) sessionsResumed += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => {})
  server.listen(wantedPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    url: `https://127.0.0.1:${port}/`,
    port,
    certificateAuthority: certificate.certificateAuthority,
    requests,
    connectionsMade: () => connectionsMade,
    connectionsOpen: () => sockets.size,
    sessionsResumed: () => sessionsResumed,
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
