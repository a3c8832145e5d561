import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { startSystem, systemParts } from '../../src/runtime/index.js'
import type { TestDatabase } from './database.js'
import { type Receiver, type ReceiverResponse, startReceiver } from './https-receiver.js'

export const adminKey = 'the-administrators-key-of-the-environment'

export interface TestServer {
  readonly url: string
  /** Answers challenges as it should, and everything else by `answer`. */
  readonly receiver: Receiver
  /** For the next deliveries; 200 until told. */
  answer: (body: string) => ReceiverResponse
}

/** The API and all parts in this process, as `serve` runs them, beside a receiver that they trust. */
export function useSagapost(database: Pick<TestDatabase, 'url'>): TestServer {
  const masterKey = Buffer.alloc(32, 7)
  const stops: (() => Promise<unknown>)[] = []
  let url: string
  let receiver: Receiver
  const server: TestServer = {
    answer: () => ({ status: 200 }),
    get url() {
      return url
    },
    get receiver() {
      return receiver
    },
  }

  beforeAll(async () => {
    receiver = await startReceiver({
      respond({ body }) {
        const request = JSON.parse(body.toString())
        return request?.type === 'sagapost.subscription.verification'
          ? { body: JSON.stringify({ challenge: request.challenge }) }
          : server.answer(body.toString())
      },
    })
    stops.push(() => receiver.stop())
    const settings = {
      DATABASE_URL: database.url,
      SAGAPOST_API_KEY: adminKey,
      SAGAPOST_ALLOWED_CIDRS: '127.0.0.0/8',
      PORT: '0',
    }
    const common = {
      databaseUrl: database.url,
      config: { ...readConfig(settings), masterKey },
      log: pino({ level: 'error' }, pino.destination(2)),
      extraCertificateAuthorities: [receiver.certificateAuthority],
    }
    const system = await startSystem({ ...common, only: systemParts })
    stops.push(() => system.stop())
    url = system.url as string
  })

  afterAll(async () => {
    for (const stop of stops.reverse()) await stop()
  })

  return server
}
