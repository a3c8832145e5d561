/** The receiver: HTTPS, answers 200, counts requests, and records arrivals on request. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { sequenceOf } from '../harness/make-body.js'
import { clockMs } from '../harness/read-clock.js'
import { answerCommands } from '../harness/talk-to-parent.js'

/** Requests under these paths are neither counted nor noted; while the receiver is disturbed, they hang or fail. */
const HANG_PATH = '/hang'
const FAIL_PATH = '/fail'
const BURST_PATH = '/burst'

const certificate = await makeCertificate()
const server = createServer({ key: certificate.privateKey, cert: certificate.certificate }, receive)
// Longer than the clients keep theirs: a connection is never closed under a request.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1')
await once(server, 'listening')

let counted = 0
let target: { count: number; reached: () => void } | undefined
let arrivals: Map<number, number> | undefined
let isDisturbed = false
let hung: ServerResponse[] = []

function receive(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    if (String(request.headers['webhook-id']).startsWith('ver_')) {
      response.end(JSON.stringify({ challenge: JSON.parse(body.toString()).challenge }))
    } else if (request.url?.startsWith(HANG_PATH)) {
      if (isDisturbed) hung.push(response)
      else response.end()
    } else if (request.url?.startsWith(FAIL_PATH)) {
      response.writeHead(isDisturbed ? 503 : 200).end()
    } else if (request.url?.startsWith(BURST_PATH)) {
      response.end()
    } else {
      if (arrivals) {
        const sequence = sequenceOf(body)
        if (!arrivals.has(sequence)) arrivals.set(sequence, clockMs())
      }
      response.end()
      counted += 1
      if (target && counted >= target.count) target.reached()
    }
  })
}

const commands = {
  start: async () => ({
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: certificate.certificateAuthority,
  }),
  /** Restarts the count; `countReached` resolves when it is reached. */
  countAgain: async () => {
    counted = 0
    target = undefined
  },
  countReached: (count: number) =>
    new Promise<void>((resolve) => {
      target = { count, reached: resolve }
      if (counted >= count) resolve()
    }),
  counted: async () => counted,
  noteArrivals: async () => {
    arrivals = new Map()
  },
  /** Pairs of a sequence number and the time of its first arrival. */
  takeArrivals: async () => {
    const taken = [...(arrivals ?? [])]
    arrivals = undefined
    return taken
  },
  disturb: async (on: boolean) => {
    isDisturbed = on
    if (on) return
    for (const response of hung) response.end()
    hung = []
  },
  stop: async () => {
    server.close()
    server.closeAllConnections()
  },
}
export type ReceiverCommands = typeof commands
answerCommands(commands)
