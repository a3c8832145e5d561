import { afterEach } from 'vitest'
import { Sagapost, type SagapostOptions } from '../../src/index.js'
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/https-receiver.js'

export const masterKey = Buffer.alloc(32, 7).toString('base64')
const loopback = '127.0.0.0/8'

/** Instances and receivers of a test, stopped with it whatever happens. */
export function useInstances() {
  const stops: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  })
  return {
    embed(options: SagapostOptions, receiver?: Receiver): Sagapost {
      const instance = new Sagapost({
        masterKey,
        allowedCidrs: [loopback],
        requestTimeout: '30s',
        retryBaseDelay: 100,
        ...(receiver && { extraCertificateAuthorities: [receiver.certificateAuthority] }),
        ...options,
      })
      stops.push(() => instance.stop())
      return instance
    },
    async receive(respond: (request: ReceivedRequest) => { status: number } = () => ({ status: 204 })) {
      const receiver = await startReceiver({
        respond(request) {
          const { type, challenge } = JSON.parse(request.body.toString())
          if (type !== 'sagapost.subscription.verification') return respond(request)
          return { body: JSON.stringify({ challenge }) }
        },
      })
      stops.push(() => receiver.stop())
      return receiver
    },
  }
}

/** A subscription that was verified over HTTPS; what the receiver got for that is forgotten. */
export async function subscribe(instance: Sagapost, receiver: Receiver, eventType: string) {
  const created = await instance.subscriptions.create({ eventType, callbackUrl: `${receiver.url}hooks` })
  const outcome = await instance.subscriptions.verify(created.id)
  if (!outcome.verified) throw new Error(outcome.detail)
  receiver.requests.length = 0
  return created
}

export const bodies = (receiver: Receiver) => receiver.requests.map(({ body }) => body.toString()).sort()
