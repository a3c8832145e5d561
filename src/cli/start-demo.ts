import pc from 'picocolors'
import type { Config } from '../config/index.js'
import { createRolePool } from '../database/index.js'
import { storeEvents } from '../delivery/index.js'
import { SagapostError } from '../errors/index.js'
import type { Wakeups } from '../loop/index.js'
import {
  changeSubscription,
  createSecretBox,
  createSubscription,
  listSubscriptions,
  readSigningSecrets,
  verifySubscription,
} from '../subscriptions/index.js'
import { createWebhookSender, formatSecret, parseAllowedCidrs } from '../webhook/index.js'
import { describeRequest } from './describe-request.js'
import type { ServerCertificate } from './make-certificate.js'
import { type Listener, startListener } from './start-listener.js'

const EVENT_TYPE = 'demo.hello'
const PATH = 'demo'
/** Another port is used when this one is taken; the subscription is updated. */
const PORT = 8443

export interface DemoOptions {
  databaseUrl: string
  config: Config & { masterKey: Buffer }
  certificate: ServerCertificate
  wakeups: Wakeups
}

/** Starts a local receiver with a subscription and publishes one event, so that a new user sees a delivery. */
export async function startDemo({
  databaseUrl,
  config,
  certificate,
  wakeups,
}: DemoOptions): Promise<Listener> {
  let secrets: string[] = []
  const listener = await listenAnywhere({
    certificate,
    host: '127.0.0.1',
    secrets: () => secrets,
    onRequest: (request) => {
      if (request.challenge === null) console.log(describeRequest(request))
    },
  })
  const admin = createRolePool({ databaseUrl, role: 'subscription_admin', connectionsMax: 1 })
  const ingest = createRolePool({ databaseUrl, role: 'event_ingest_writer', connectionsMax: 1 })
  const allowedCidrs = parseAllowedCidrs(config.allowedCidrs)
  const sender = createWebhookSender({
    requestTimeoutMs: config.requestTimeoutMs,
    allowedCidrs,
    extraCertificateAuthorities: [certificate.certificateAuthority],
  })
  const box = createSecretBox(config.masterKey)
  const callbackUrl = `${listener.url}${PATH}`
  try {
    const { id, isOff } = await findSubscription()
    if (isOff) {
      console.log(
        `\nDemo: the subscription to ${EVENT_TYPE} is inactive (subscription ${id}); the demo leaves it unchanged.`,
      )
      return listener
    }
    const found = (await readSigningSecrets(admin, box, [id])).get(id)
    if (found?.readable) secrets = found.secrets.map(formatSecret)
    const outcome = await verifySubscription(admin, id, { box, sender })
    if (!outcome?.verified)
      throw new SagapostError('verification_failed', outcome?.detail ?? 'The subscription was deleted')
    const [event] = await storeEvents(ingest, [{ type: EVENT_TYPE, payload: '{"hello":"world"}' }])
    if (!event || 'refusal' in event) throw new Error('the demo event was refused')
    console.log(
      `\nDemo: ${callbackUrl} is subscribed to ${pc.bold(EVENT_TYPE)}, and event ${event.id} was published.`,
    )
    console.log(pc.dim(`  Publish another: npx sagapost publish ${EVENT_TYPE} '{"hello":"you"}'\n`))
    wakeups.wake('routing')
    return listener
  } catch (error) {
    await listener.stop()
    throw error
  } finally {
    await Promise.all([admin.end(), ingest.end(), sender.close()])
  }

  /** The subscription of an earlier start, updated to this receiver's address, or a new one. */
  async function findSubscription(): Promise<{ id: string; isOff: boolean }> {
    const { data } = await listSubscriptions(admin, { eventType: EVENT_TYPE, deleted: false, limit: 200 })
    const known = data.find((each) => /^https:\/\/127\.0\.0\.1:\d+\/demo$/.test(each.callbackUrl))
    if (!known) {
      const { subscription } = await createSubscription(
        admin,
        { eventType: EVENT_TYPE, callbackUrl },
        { box, allowedCidrs },
      )
      return { id: subscription.id, isOff: false }
    }
    // It was deactivated after its verification.
    if (known.verified && !known.active) return { id: known.id, isOff: true }
    if (known.callbackUrl !== callbackUrl) {
      await changeSubscription(admin, known.id, { callbackUrl }, { allowedCidrs })
    }
    return { id: known.id, isOff: false }
  }
}

async function listenAnywhere(options: Omit<Parameters<typeof startListener>[0], 'port'>): Promise<Listener> {
  try {
    return await startListener({ ...options, port: PORT })
  } catch (error) {
    if (!(error instanceof SagapostError)) throw error
    return startListener({ ...options, port: 0 })
  }
}
