import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { readConfig } from '../../src/config/index.js'
import { storeEvents } from '../../src/delivery/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { expressHandler, nodeHandler, type WebhookEvent } from '../../src/receiver/index.js'
import { partNames } from '../../src/runtime/index.js'
import { startParts } from '../../src/runtime/start-parts.js'
import {
  createSecretBox,
  createSubscription,
  rotateSecret,
  sendTestRequest,
  verifySubscription,
} from '../../src/subscriptions/index.js'
import { createWebhookSender, type WebhookSender } from '../../src/webhook/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const masterKey = Buffer.alloc(32, 7)
const box = createSecretBox(masterKey)
const allowedCidrs = ['127.0.0.0/8']
const admin = () => database.as('subscription_admin')
let certificate: Awaited<ReturnType<typeof makeCertificate>>
let sender: WebhookSender
let parts: Awaited<ReturnType<typeof startParts>>

beforeAll(async () => {
  certificate = await makeCertificate()
  const extraCertificateAuthorities = [certificate.certificateAuthority]
  sender = createWebhookSender({ requestTimeoutMs: 20_000, allowedCidrs, extraCertificateAuthorities })
  parts = await startParts({
    databaseUrl: database.url,
    config: { ...readConfig({ SAGAPOST_ALLOWED_CIDRS: allowedCidrs.join() }), masterKey },
    only: partNames,
    log: pino({ level: 'error' }, pino.destination(2)),
    metrics: createMetrics(),
    extraCertificateAuthorities,
  })
})
afterAll(async () => {
  await parts.stop()
  await sender.close()
})

async function startHttps(listener: Parameters<typeof createServer>[1]) {
  const server = createServer({ cert: certificate.certificate, key: certificate.privateKey }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function publish(type: string, payload: string): Promise<void> {
  await storeEvents(database.as('event_ingest_writer'), [{ type, payload, correlationId: 'checkout-4711' }])
  parts.wakeups.wake('routing')
}

it.each([
  ['v1', 'node:https'],
  ['v1a', 'express'],
] as const)(
  '[U4, J6] with %s, the kit in %s passes the verification and receives events, through a rotation',
  async (scheme, framework) => {
    let secrets: string[] = []
    const events: WebhookEvent[] = []
    const options = { secret: () => secrets, onEvent: (event: WebhookEvent) => events.push(event) }
    const server = await startHttps(
      framework === 'express' ? express().use('/hooks', expressHandler(options)) : nodeHandler(options),
    )
    try {
      const eventType = `end-to-end.${scheme}`
      const { subscription, secret } = await createSubscription(
        admin(),
        { eventType, callbackUrl: server.url, scheme },
        { box, allowedCidrs },
      )
      const { id } = subscription
      expect(await verifySubscription(admin(), id, { box, sender })).toMatchObject({
        verified: false,
        reason: 'request_failed',
        response: { errorCode: 'http_401' },
      })
      secrets = [secret]
      expect(await verifySubscription(admin(), id, { box, sender })).toMatchObject({ verified: true })
      expect(await sendTestRequest(admin(), id, { box, sender })).toMatchObject({ responseStatus: 204 })

      await publish(eventType, '{ "order":  7 }')
      await expect.poll(() => events.length).toBe(1)
      expect(events[0]).toMatchObject({
        kind: 'event',
        id: expect.stringMatching(/^evt_\d+_[0-9a-z]+$/),
        type: eventType,
        attempt: 1,
        correlationId: 'checkout-4711',
        payload: { order: 7 },
        body: Buffer.from('{ "order":  7 }'),
      })

      const rotated = await rotateSecret(admin(), id, { box })
      await publish(eventType, '{"order": 8}')
      await expect.poll(() => events.length).toBe(2)
      secrets = [rotated?.secret ?? '']
      await publish(eventType, '{"order": 9}')
      await expect.poll(() => events.length).toBe(3)
      await expect
        .poll(async () => {
          const { rows } = await database.pool.query(
            'SELECT status, attempt_count FROM sagapost.webhook_delivery_sagas WHERE subscription_id = $1',
            [id],
          )
          return rows
        })
        .toEqual(Array(3).fill({ status: 'Completed', attempt_count: 1 }))
    } finally {
      await server.stop()
    }
  },
)
