import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { ServerCertificate } from '../../src/cli/make-certificate.js'
import { eventIdIn } from '../../src/model/index.js'
import type { ReceiverLog } from '../../test/support/receiver-log.js'
import type { ReceiverMode } from '../schedule/fault.js'

/** What a path of a receiver belongs to. */
interface Endpoint {
  subscriptionId: string
  log: ReceiverLog
  /** The status of an answer while the receiver is healthy. */
  statusOf: (request: ArrivedRequest) => number
}

export interface ArrivedRequest {
  eventId: string
  attempt: number
  body: Buffer
}

/** A request that was recorded, at the moment it was complete. */
export interface Arrival {
  subscriptionId: string
  eventId: string
  attempt: number
  atMs: number
}

export interface FaultReceiver {
  url: string
  mode: ReceiverMode | 'healthy'
  /** In another mode than before; what hung is let go. */
  behave(mode: ReceiverMode | 'healthy'): Promise<void>
  addEndpoint(path: string, endpoint: Endpoint): void
  close(): Promise<void>
}

const DRIP_EVERY_MS = 100
const FLOOD_BYTES = 64 * 1_024
const RETRY_AFTER_S = '1'

/** An HTTPS receiver that records every request and fails as configured. */
export async function startFaultReceiver(
  certificate: ServerCertificate,
  onArrival: (arrival: Arrival) => void,
): Promise<FaultReceiver> {
  const endpoints = new Map<string, Endpoint>()
  const sockets = new Set<Socket>()
  const held = new Set<ServerResponse>()
  const server = createServer({ cert: certificate.certificate, key: certificate.privateKey }, receive)
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const { headers, url = '' } = request
      if (String(headers['webhook-id']).startsWith('ver_')) {
        response.end(JSON.stringify({ challenge: JSON.parse(body.toString()).challenge }))
        return
      }
      const endpoint = endpoints.get(url)
      if (endpoint === undefined) {
        response.writeHead(404).end()
        return
      }
      const { subscriptionId } = endpoint
      endpoint.log.record(subscriptionId, { headers, body })
      const eventId = eventIdIn(String(headers['webhook-id'])) ?? ''
      const attempt = Number(headers['sagapost-attempt'])
      onArrival({ subscriptionId, eventId, attempt, atMs: Date.now() })
      answer(response, endpoint.statusOf({ eventId, attempt, body }))
    })
  }

  function answer(response: ServerResponse, status: number): void {
    switch (receiver.mode) {
      case 'healthy':
      case 'refuse':
        response.writeHead(status).end()
        break
      case 'error':
        response.writeHead(500).end('broken')
        break
      case 'unavailable':
        response.writeHead(503, { 'retry-after': RETRY_AFTER_S }).end()
        break
      case 'hang':
        held.add(response)
        response.on('close', () => held.delete(response))
        break
      case 'drip':
        drip(response)
        break
      case 'flood':
        flood(response)
        break
      case 'reset':
        response.socket?.destroy()
        break
    }
  }

  const receiver: FaultReceiver = {
    url: `https://127.0.0.1:${port}`,
    mode: 'healthy',
    async behave(mode) {
      const left = receiver.mode
      receiver.mode = mode
      for (const response of held) response.destroy()
      held.clear()
      if (mode === 'refuse') {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      if (left === 'refuse' && mode !== 'refuse') {
        server.listen(port, '127.0.0.1')
        await once(server, 'listening')
      }
    },
    addEndpoint: (path, endpoint) => void endpoints.set(path, endpoint),
    async close() {
      if (server.listening) server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return receiver
}

/** A byte now and then, for ever. */
export function drip(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), DRIP_EVERY_MS)
  response.on('close', () => clearInterval(timer))
}

/** As much as the other side takes, for ever. */
export function flood(response: ServerResponse): void {
  const block = Buffer.alloc(FLOOD_BYTES, 'flood ')
  response.writeHead(200)
  const pour = () => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', pour)
  pour()
}
