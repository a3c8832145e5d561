import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { eventIdIn } from '../../src/model/index.js'

interface LoggedRequest {
  headers: IncomingHttpHeaders
  body: Buffer
}

/** True when the request is signed by the subscription's secret: let it be somebody else's code than the sender's. */
type VerifyRequest = (request: LoggedRequest) => boolean

/** All requests of one attempt; more than one when an attempt was repeated. */
interface AttemptLog {
  subscriptionId: string
  attempt: number
  requests: number
  /** Of the first request, and whether all others had the same. */
  webhookId: string
  webhookIdVaries: boolean
  bodySha256: string
  bodyVaries: boolean
  badSignatures: number
}

/**
 * What a receiver got, kept by event and attempt: hashes and counts, never bodies. It is filled by the receiver, in
 * a test or in the harness, and knows nothing of the database.
 */
export interface ReceiverLog {
  /** From now on requests of this subscription are taken, and checked with `verify`. */
  watch(subscriptionId: string, verify: VerifyRequest): void
  watches(subscriptionId: string): boolean
  /** False when the request names no event or attempt, or a subscription that is not watched; `strays` counts those. */
  record(subscriptionId: string, request: LoggedRequest): boolean
  readonly requests: number
  readonly strays: number
  readonly events: ReadonlyMap<string, readonly AttemptLog[]>
}

export function createReceiverLog(): ReceiverLog {
  const verifiers = new Map<string, VerifyRequest>()
  const events = new Map<string, AttemptLog[]>()
  let requests = 0
  let strays = 0

  return {
    get requests() {
      return requests
    },
    get strays() {
      return strays
    },
    events,
    watch(subscriptionId, verify) {
      verifiers.set(subscriptionId, verify)
    },
    watches: (subscriptionId) => verifiers.has(subscriptionId),
    record(subscriptionId, request) {
      requests += 1
      const verify = verifiers.get(subscriptionId)
      const webhookId = String(request.headers['webhook-id'])
      const eventId = eventIdIn(webhookId)
      const attempt = /^[1-9]\d*$/.exec(String(request.headers['sagapost-attempt']))?.[0]
      if (verify === undefined || eventId === null || attempt === undefined) {
        strays += 1
        return false
      }
      const bodySha256 = sha256(request.body)
      const ofEvent = events.get(eventId) ?? []
      events.set(eventId, ofEvent)
      let log = ofEvent.find(
        (each) => each.subscriptionId === subscriptionId && each.attempt === Number(attempt),
      )
      if (log === undefined) {
        log = {
          subscriptionId,
          attempt: Number(attempt),
          requests: 0,
          webhookId,
          webhookIdVaries: false,
          bodySha256,
          bodyVaries: false,
          badSignatures: 0,
        }
        ofEvent.push(log)
      }
      log.requests += 1
      if (log.webhookId !== webhookId) log.webhookIdVaries = true
      if (log.bodySha256 !== bodySha256) log.bodyVaries = true
      if (!verify(request)) log.badSignatures += 1
      return true
    },
  }
}

/** The hash that payloads and bodies are compared by. */
export function sha256(body: string | Buffer): string {
  return createHash('sha256').update(body).digest('hex')
}
