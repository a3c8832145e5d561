import fc from 'fast-check'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { startApi } from '../../src/http/index.js'
import { eventIdIn } from '../../src/model/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { partNames } from '../../src/runtime/index.js'
import { startParts } from '../../src/runtime/start-parts.js'
import { useDatabase } from '../support/database.js'
import { startReceiver } from '../support/https-receiver.js'
import { adminKey, type CallOptions, call } from './api-server.js'
import { hostilePayloads, payloadText } from './hostile-payloads.js'

const database = useDatabase()
const GENERATED = 300
const ARRIVAL_MS_MAX = 120_000
const ITEMS_PER_BATCH = 50

it(
  '[E1, D2, J3] every hostile payload that is accepted arrives and is shown byte for byte',
  async () => {
    const receiver = await startReceiver({
      respond: ({ body }) => {
        const { challenge = '' } = JSON.parse(body.toString()) ?? {}
        return { body: JSON.stringify({ challenge }) }
      },
    })
    const masterKey = Buffer.alloc(32, 7)
    const options = {
      databaseUrl: database.url,
      config: {
        ...readConfig({ DATABASE_URL: database.url, SAGAPOST_ALLOWED_CIDRS: '127.0.0.0/8', PORT: '0' }),
        apiKey: adminKey,
        masterKey,
        port: 0,
      },
      log: pino({ level: 'error' }, pino.destination(2)),
      extraCertificateAuthorities: [receiver.certificateAuthority],
    }
    const metrics = createMetrics()
    const parts = await startParts({ ...options, metrics, only: partNames })
    const api = await startApi({ ...options, metrics, wakeups: parts.wakeups })
    const ask = (method: string, path: string, more?: CallOptions) => call(api.url + path, method, more)
    try {
      const { body: made } = await ask('POST', '/v1/subscriptions', {
        body: { eventType: 'hostile', callbackUrl: receiver.url },
      })
      expect((await ask('POST', `/v1/subscriptions/${made.id}/verify`)).status).toBe(200)
      receiver.requests.length = 0

      const payloads = [
        ...Object.values(hostilePayloads),
        ...fc.sample(payloadText, { numRuns: GENERATED, seed: 7 }),
      ]
      const sent = new Map<string, string>()
      for (const [index, payload] of payloads.entries()) {
        const body = ` {"payload"\t: ${payload} ,\n"type":"hostile","idempotencyKey":"hostile-${index}"}`
        const { status, body: receipt } = await ask('POST', '/v1/events', { body })
        expect([payload.slice(0, 100), status]).toEqual([payload.slice(0, 100), 202])
        sent.set(receipt.id, payload)
      }
      for (let at = 0; at < payloads.length; at += ITEMS_PER_BATCH) {
        const some = payloads.slice(at, at + ITEMS_PER_BATCH)
        const items = some.map((payload) => `{"type":"hostile","payload":${payload}}`)
        const { body } = await ask('POST', '/v1/events/batch', { body: `{"events":[${items.join(' , ')}]}` })
        for (const [index, { id }] of body.results.entries()) sent.set(id, some[index] as string)
      }
      expect(sent.size).toBe(2 * payloads.length)

      await expect.poll(() => receiver.requests.length, { timeout: ARRIVAL_MS_MAX }).toBe(sent.size)
      const webhook = new Webhook(made.secret)
      const arrived = new Map(
        receiver.requests.map(({ headers, body }) => [
          String(eventIdIn(String(headers['webhook-id']))),
          { headers, body },
        ]),
      )
      for (const [id, payload] of sent) {
        const { body, headers } = arrived.get(id) ?? {}
        expect([id, body?.equals(Buffer.from(payload))]).toEqual([id, true])
        webhook.verify(body ?? '', headers as Record<string, string>)
        const { text } = await ask('GET', `/v1/events/${id}`)
        expect(text.endsWith(`,"payload":${payload}}`)).toBe(true)
      }
    } finally {
      await api.stop()
      await parts.stop()
      await receiver.stop()
    }
  },
  2 * ARRIVAL_MS_MAX,
)
