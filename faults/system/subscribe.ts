import type pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import type { ReceiverLog } from '../../test/support/receiver-log.js'
import { LOOPBACK, masterKey } from './process-environment.js'
import type { ArrivedRequest, FaultReceiver } from './start-receiver.js'

const VERIFY_MS_MAX = 10_000

export interface SubscribeOptions {
  /** Under the role subscription_admin. */
  admin: pg.Pool
  receiver: FaultReceiver
  authority: string
  log: ReceiverLog
  eventType: string
  maxAttempts?: number
  statusOf?: (request: ArrivedRequest) => number
}

let paths = 0

/** A verified subscription with its own path; an independent verifier checks its requests as they arrive. */
export async function subscribe(options: SubscribeOptions): Promise<string> {
  const { admin, receiver, log, eventType, maxAttempts } = options
  const path = `/hooks/${++paths}`
  const box = createSecretBox(masterKey)
  const { subscription, secret } = await createSubscription(
    admin,
    { eventType, callbackUrl: receiver.url + path, ...(maxAttempts && { maxAttempts }) },
    { box, allowedCidrs: [LOOPBACK] },
  )
  const sender = createWebhookSender({
    requestTimeoutMs: VERIFY_MS_MAX,
    allowedCidrs: [LOOPBACK],
    extraCertificateAuthorities: [options.authority],
  })
  const outcome = await verifySubscription(admin, subscription.id, { box, sender }).finally(() =>
    sender.close(),
  )
  if (!outcome?.verified) throw new Error(`${path} was not verified: ${outcome?.detail}`)
  const webhook = new Webhook(secret)
  log.watch(subscription.id, ({ headers, body }) => {
    try {
      webhook.verify(body, headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  })
  receiver.addEndpoint(path, {
    subscriptionId: subscription.id,
    log,
    statusOf: options.statusOf ?? (() => 200),
  })
  return subscription.id
}
