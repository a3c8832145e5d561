import { pino } from 'pino'
import { readConfig } from '../../src/config/index.js'
import { NonRetryableError } from '../../src/index.js'
import { type System, startSystem, systemParts } from '../../src/runtime/index.js'
import { saga } from '../../src/sagas/index.js'
import { call } from '../http/api-server.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'

export const adminKey = 'the-administrators-key-of-the-environment'

interface Order {
  order: number
  /** What becomes of it. */
  fate: 'good' | 'undone' | 'stuck'
}

const once = { maxAttempts: 1 } as const

/** Goes well, is undone, or gets stuck because an undo fails. */
const checkout = saga<Order>('checkout', { version: 1, retry: once })
  .step('reserve', { run: ({ input }) => ({ reservation: `r-${input.order}` }), compensate: () => {} })
  .step('charge', {
    run: ({ input }) => ({ payment: `p-${input.order}` }),
    compensate: ({ input }) => {
      if (input.fate === 'stuck') throw new NonRetryableError('the bank is closed', { code: 'bank_closed' })
    },
  })
  .step('ship', {
    run: ({ input }) => {
      if (input.fate !== 'good')
        throw new NonRetryableError('nobody delivers there', { code: 'out_of_reach' })
      return { parcel: `x-${input.order}` }
    },
  })

/** Waits for a signal that is never sent. */
export const approval = saga<{ request: string }>('approval', { version: 1 })
  .step('ask', { run: () => ({ asked: true }), compensate: () => {} })
  .waitFor('answer', { signal: 'approved', key: ({ input }) => input.request, timeout: '1d' })

export interface StagedSystem {
  url: string
  system: System
  receiver: Receiver
  /** Whether `/moody` answers with 200 or with 500. */
  mood: { good: boolean }
  call: (method: string, path: string, options?: Parameters<typeof call>[2]) => ReturnType<typeof call>
  /** A verified subscription to a path of the receiver. */
  subscribe(eventType: string, path: string, fields?: object): Promise<string>
  publish(type: string, payload: unknown, more?: object, headers?: Record<string, string>): Promise<string>
  startSaga(input: Order, key?: string): Promise<string>
  stop(): Promise<void>
}

/** What a hostile receiver answers with. */
const hostileAnswer = '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 1">'

/** The whole system in this process, beside a receiver that answers by its paths. */
export async function stageSystem(databaseUrl: string): Promise<StagedSystem> {
  const mood = { good: false }
  const receiver = await startReceiver({
    respond({ body, path }) {
      const request = JSON.parse(body.toString())
      if (request?.type === 'sagapost.subscription.verification') {
        return path === '/deaf' ? { status: 500 } : { body: JSON.stringify({ challenge: request.challenge }) }
      }
      if (path === '/broken' || (path === '/moody' && !mood.good)) return { status: 500, body: hostileAnswer }
      if (path === '/later') return { status: 503, headers: { 'retry-after': '3600' } }
      if (path === '/slow') return { delayMs: 40, body: 'thank you' }
      return { body: 'thank you' }
    },
  })
  const settings = {
    SAGAPOST_API_KEY: adminKey,
    SAGAPOST_ALLOWED_CIDRS: '127.0.0.0/8',
    PORT: '0',
    SAGAPOST_RETRY_BASE_DELAY: '200ms',
    SAGAPOST_RETRY_LIMIT: '3',
  }
  const system = await startSystem({
    databaseUrl,
    config: { ...readConfig(settings), masterKey: Buffer.alloc(32, 7) },
    log: pino({ level: 'error' }, pino.destination(2)),
    extraCertificateAuthorities: [receiver.certificateAuthority],
    only: systemParts,
    sagas: { definitions: [checkout, approval] },
  })
  const url = system.url as string
  const staged: StagedSystem = {
    url,
    system,
    receiver,
    mood,
    call: (method, path, options) => call(url + path, method, { key: adminKey, ...options }),
    async subscribe(eventType, path, fields = {}) {
      const body = { eventType, callbackUrl: receiver.url + path.slice(1), ...fields }
      const { id } = (await staged.call('POST', '/v1/subscriptions', { body })).body
      const { status, text } = await staged.call('POST', `/v1/subscriptions/${id}/verify`)
      if (status !== 200) throw new Error(text)
      return id
    },
    async publish(type, payload, more = {}, headers = {}) {
      const options = { body: { type, payload, ...more }, headers }
      const { body, text } = await staged.call('POST', '/v1/events', options)
      if (!body?.id) throw new Error(text)
      return body.id
    },
    async startSaga(input, key) {
      const started = await system.coordinator?.start(checkout, input, key === undefined ? {} : { key })
      await started?.result()
      return started?.id ?? ''
    },
    async stop() {
      await system.stop()
      await receiver.stop()
    },
  }
  return staged
}
