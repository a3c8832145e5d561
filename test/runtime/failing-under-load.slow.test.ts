import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { defaultBreakerPolicy } from '../../src/delivery/breakers/note-outcomes.js'
import { storeEvents } from '../../src/delivery/index.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { type PartName, startParts } from '../../src/runtime/start-parts.js'
import { createSecretBox, createSubscription } from '../../src/subscriptions/index.js'
import { useDatabase } from '../support/database.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'

const database = useDatabase()
const masterKey = Buffer.alloc(32, 7)
const loopback = '127.0.0.0/8'
const box = createSecretBox(masterKey)

/** Two processes with a worker each. */
const WORKERS = 2
const DELIVERIES = 3_000
/** Each stops by itself after fifty failures; requests that were under way then are counted as well. */
const REQUESTS_MAX = 110

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

async function startProcess(receiver: Receiver, only: readonly PartName[]): Promise<void> {
  const env = {
    DATABASE_URL: database.url,
    SAGAPOST_API_KEY: 'k'.repeat(32),
    SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
    SAGAPOST_ALLOWED_CIDRS: loopback,
    SAGAPOST_CONCURRENCY: '20',
  }
  const parts = await startParts({
    databaseUrl: database.url,
    config: { ...readConfig(env), masterKey },
    only,
    // None is due while the test runs: what is counted here is what it takes until the breaker is open.
    breakerPolicy: { ...defaultBreakerPolicy, probeEveryMs: 3_600_000 },
    log: pino({ level: 'error' }, pino.destination(2)),
    metrics: createMetrics(),
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  stops.push(() => parts.stop())
}

async function subscribe(receiver: Receiver, eventType: string): Promise<string> {
  const { subscription } = await createSubscription(
    database.as('subscription_admin'),
    { eventType, callbackUrl: new URL(eventType, receiver.url).href },
    { box, allowedCidrs: [loopback] },
  )
  await database.pool.query(
    'UPDATE sagapost.subscriptions SET verified = true, active = true WHERE id = $1',
    [subscription.id],
  )
  return subscription.id
}

const publish = (type: string, count: number) =>
  storeEvents(
    database.as('event_ingest_writer'),
    Array.from({ length: count }, (_, n) => ({ type, payload: `{"n":${n}}` })),
  )

async function countOf(sql: string, values: unknown[]): Promise<number> {
  const { rows } = await database.pool.query(`SELECT count(*)::int FROM ${sql}`, values)
  return rows[0].count
}

it('[J3, J7] an endpoint that fails under load is paused after a hundred requests of two workers, each of them an attempt', async () => {
  const receiver = await startReceiver({
    respond: ({ path }) => ({ status: path === '/dead' ? 503 : 200 }),
  })
  stops.push(receiver.stop)
  const dead = await subscribe(receiver, 'dead')
  const healthy = await subscribe(receiver, 'healthy')
  await publish('dead', DELIVERIES)
  await startProcess(receiver, ['router', 'orchestrator'])
  const jobsOf = (status: string) =>
    countOf('sagapost.webhook_delivery_jobs WHERE subscription_id = $1 AND status::text = $2', [dead, status])
  await expect.poll(() => jobsOf('Pending')).toBe(DELIVERIES)
  for (let n = 0; n < WORKERS; n++) await startProcess(receiver, ['worker'])

  const requests = () => receiver.requests.filter(({ path }) => path === '/dead').length
  const isOpen = () =>
    countOf('sagapost.subscription_breakers WHERE subscription_id = $1 AND paused_until > sagapost.now()', [
      dead,
    ])
  await expect.poll(async () => (await isOpen()) === 1 || requests() > REQUESTS_MAX).toBe(true)
  // Others go on meanwhile; when a worker has sent them, it has long heard of the open breaker.
  for (let n = 0; n < 5; n++) {
    await publish('healthy', 100)
    await expect
      .poll(() =>
        countOf(`sagapost.webhook_delivery_sagas WHERE subscription_id = $1 AND status = 'Completed'`, [
          healthy,
        ]),
      )
      .toBe((n + 1) * 100)
  }
  await expect.poll(() => jobsOf('Leased')).toBe(0)
  expect(requests()).toBeLessThanOrEqual(REQUESTS_MAX)
  await expect
    .poll(async () => {
      const { rows } = await database.pool.query(
        'SELECT sum(attempt_count)::int AS attempts FROM sagapost.webhook_delivery_sagas WHERE subscription_id = $1',
        [dead],
      )
      return rows[0].attempts
    })
    .toBe(requests())
  expect(await isOpen()).toBe(1)
  expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])
})
