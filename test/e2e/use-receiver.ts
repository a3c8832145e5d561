import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect } from 'vitest'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import type { TestDatabase } from '../support/database.js'
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverResponse,
  startReceiver,
} from '../support/https-receiver.js'
import { createReceiverLog, type ReceiverLog } from '../support/receiver-log.js'
import { LOOPBACK, masterKey } from './use-processes.js'

type Respond = (request: ReceivedRequest) => ReceiverResponse | Promise<ReceiverResponse>

export interface Endpoint {
  subscriptionId: string
  eventType: string
}

export interface RecordingReceiver {
  /** PEM. */
  readonly authority: string
  /** How the next requests are answered; 200 unless told otherwise. */
  respond: Respond
  /** Requests from now on go to a log of their own. */
  startLog(): ReceiverLog
  /** A subscription at a path of its own, verified over HTTPS. */
  subscribe(eventType: string, log: ReceiverLog): Promise<Endpoint>
}

/**
 * One HTTPS receiver for the test file. It keeps hashes and counts, no bodies, and checks every signature with
 * somebody else's code as the request comes in.
 */
export function useReceiver(database: TestDatabase): RecordingReceiver {
  let receiver: Receiver
  const endpoints = new Map<string, { subscriptionId: string; log: ReceiverLog }>()
  let paths = 0

  const answer: Respond = (request) => {
    receiver.requests.length = 0
    if (String(request.headers['webhook-id']).startsWith('ver_')) {
      return { body: JSON.stringify({ challenge: JSON.parse(request.body.toString()).challenge }) }
    }
    const endpoint = endpoints.get(request.path)
    if (!endpoint) return { status: 404 }
    endpoint.log.record(endpoint.subscriptionId, request)
    return use.respond(request)
  }
  beforeAll(async () => {
    receiver = await startReceiver({ respond: answer })
  })
  afterAll(() => receiver.stop())

  const use: RecordingReceiver = {
    get authority() {
      return receiver.certificateAuthority
    },
    respond: () => ({ status: 200 }),
    startLog: createReceiverLog,
    async subscribe(eventType, log) {
      const admin = database.as('subscription_admin')
      const box = createSecretBox(masterKey)
      const path = `/hooks/${paths++}`
      const { subscription, secret } = await createSubscription(
        admin,
        { eventType, callbackUrl: new URL(path, receiver.url).href },
        { box, allowedCidrs: [LOOPBACK] },
      )
      const sender = createWebhookSender({
        requestTimeoutMs: 30_000,
        allowedCidrs: [LOOPBACK],
        extraCertificateAuthorities: [receiver.certificateAuthority],
      })
      const outcome = await verifySubscription(admin, subscription.id, { box, sender })
      await sender.close()
      expect(outcome).toMatchObject({ verified: true })
      const webhook = new Webhook(secret)
      log.watch(subscription.id, ({ headers, body }) => {
        try {
          webhook.verify(body, headers as Record<string, string>)
          return true
        } catch {
          return false
        }
      })
      endpoints.set(path, { subscriptionId: subscription.id, log })
      return { subscriptionId: subscription.id, eventType }
    },
  }
  return use
}
