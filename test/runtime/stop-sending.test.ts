import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { cancelDelivery, requeueDeadLetter, storeEvents } from '../../src/delivery/index.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { partNames } from '../../src/runtime/index.js'
import { startParts } from '../../src/runtime/start-parts.js'
import {
  changeSubscription,
  createSecretBox,
  createSubscription,
  deleteSubscription,
  verifySubscription,
} from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'

const database = useDatabase()
const masterKey = Buffer.alloc(32, 7)
const allowedCidrs = ['127.0.0.0/8']
const box = createSecretBox(masterKey)
const env = {
  DATABASE_URL: database.url,
  SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
  SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
  SAGAPOST_ALLOWED_CIDRS: allowedCidrs[0],
  SAGAPOST_REQUEST_TIMEOUT: '50s',
  // What a worker has claimed ahead does not go back by itself before a test gives up.
  SAGAPOST_LEASE_DURATION: '10m',
  SAGAPOST_CONCURRENCY: '8',
}
const admin = () => database.as('subscription_admin')
const operator = () => database.as('dead_letter_operator')

beforeAll(() => installClock(database.pool))

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

/** All parts in one process, and every line of its log. */
async function start(receiver: Receiver): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const parts = await startParts({
    databaseUrl: database.url,
    config: { ...readConfig(env), masterKey },
    only: partNames,
    log: pino({ level: 'info' }, destination),
    metrics: createMetrics(),
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  stops.push(() => parts.stop())
  return lines
}

/** Answers challenges at once, and everything else as `status` says, when the gate is open. */
async function receive(): Promise<Receiver & { status: number; gate: { open(): void; close(): void } }> {
  let waiting = Promise.resolve()
  let open = () => {}
  const receiver = await startReceiver({
    respond: async (request) => {
      const body = JSON.parse(request.body.toString())
      if (body.challenge) return { body: JSON.stringify({ challenge: body.challenge }) }
      await waiting
      return { status: told.status }
    },
  })
  stops.push(() => receiver.stop())
  const gate = {
    open: () => open(),
    close() {
      waiting = new Promise((resolve) => {
        open = resolve
      })
    },
  }
  const told = Object.assign(receiver, { status: 200, gate })
  return told
}

async function verify(receiver: Receiver, id: string): Promise<void> {
  const sender = createWebhookSender({
    requestTimeoutMs: 30_000,
    allowedCidrs,
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  expect(await verifySubscription(admin(), id, { box, sender })).toMatchObject({ verified: true })
  await sender.close()
  receiver.requests.length = 0
}

async function subscribe(receiver: Receiver, eventType: string): Promise<string> {
  const subscription = { eventType, callbackUrl: `${receiver.url}/hooks` }
  const created = await createSubscription(admin(), subscription, { box, allowedCidrs })
  await verify(receiver, created.subscription.id)
  return created.subscription.id
}

const publish = (type: string, count: number) =>
  storeEvents(
    database.as('event_ingest_writer'),
    Array.from({ length: count }, (_, n) => ({ type, payload: `{"n":${n}}` })),
  )

/** The worker knows it as one that answers, and claims more than it has slots for. */
async function answerOnce(receiver: Receiver, type: string, id: string): Promise<void> {
  await publish(type, 1)
  await expect.poll(() => count(id, { status: 'Completed' })).toBe(1)
  receiver.requests.length = 0
}

const switchTo = (id: string, active: boolean) =>
  changeSubscription(admin(), id, { active }, { allowedCidrs })

async function deliveries(subscriptionId: string) {
  const { rows } = await database.pool.query(
    `SELECT id, status, attempt_count, final_error_code FROM sagapost.webhook_delivery_sagas
     WHERE subscription_id = $1 ORDER BY id`,
    [subscriptionId],
  )
  return rows
}

/** How many of the subscription's deliveries are so. */
async function count(subscriptionId: string, wanted: Record<string, unknown>): Promise<number> {
  const rows = await deliveries(subscriptionId)
  return rows.filter((row) => Object.entries(wanted).every(([name, value]) => row[name] === value)).length
}

async function held(subscriptionId: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT FROM sagapost.webhook_delivery_jobs
     WHERE subscription_id = $1 AND status = 'Pending' AND lease_until = sagapost.held_until($1)`,
    [subscriptionId],
  )
  return rows.length
}

const violations = (settled = true) => checkInvariants(database.as('saga_readonly_role'), { settled })

describe('a subscription that is deleted', () => {
  it('[S5, S15, S17, D3] gets only requests already under way: everything open ends as dead letters', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.delete')
    await start(receiver)
    await answerOnce(receiver, 'stop.delete', id)
    receiver.gate.close()
    await publish('stop.delete', 40)
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0)
    // Some are sent, some wait for a slot of the worker, others have not been claimed.
    await deleteSubscription(admin(), id)
    const dead = { status: 'DeadLettered', final_error_code: 'subscription_deleted' }
    await expect.poll(async () => (await count(id, dead)) + receiver.requests.length).toBe(40)
    const sent = receiver.requests.length
    receiver.gate.open()
    await expect.poll(() => count(id, { status: 'Completed' })).toBe(1 + sent)
    expect([await count(id, dead), receiver.requests.length]).toEqual([40 - sent, sent])
    expect(await violations()).toEqual([])
  })

  it('[S15, S17, J11] ends a waiting retry at once, and a failure under way with it; rows and log name the last job', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.retry')
    receiver.status = 500
    const lines = await start(receiver)
    await publish('stop.retry', 3)
    await expect.poll(() => count(id, { status: 'PendingRetry' })).toBe(3)
    receiver.gate.close()
    await publish('stop.retry', 1)
    await expect.poll(() => receiver.requests.length).toBe(4)
    await deleteSubscription(admin(), id)
    const dead = { status: 'DeadLettered', final_error_code: 'subscription_deleted', attempt_count: 1 }
    await expect.poll(() => count(id, dead)).toBe(3)
    receiver.gate.open()
    await expect.poll(() => count(id, dead)).toBe(4)

    const { rows: letters } = await database.pool.query(
      `SELECT letter.saga_id, letter.final_error_code, letter.job_id, letter.worker_id, letter.lease_expiration, job.error_code
       FROM sagapost.dead_letters AS letter JOIN sagapost.webhook_delivery_jobs AS job ON job.id = letter.job_id
       WHERE letter.subscription_id = $1`,
      [id],
    )
    expect(letters).toHaveLength(4)
    for (const letter of letters) {
      // The attempt keeps what came of it.
      expect(letter).toMatchObject({ final_error_code: 'subscription_deleted', error_code: 'http_500' })
      const told = () => lines.find((line) => line['saga_id'] === letter.saga_id && line['level'] === 40)
      await expect.poll(told).toMatchObject({
        msg: 'delivery dead-lettered',
        error_code: 'subscription_deleted',
        job_id: letter.job_id,
        worker_id: letter.worker_id,
        lease_expiration: letter.lease_expiration.toISOString(),
      })
    }
    expect(await violations()).toEqual([])
    const { rows } = await database.pool.query(
      'SELECT id FROM sagapost.dead_letters WHERE subscription_id = $1 LIMIT 1',
      [id],
    )
    await expect(requeueDeadLetter(operator(), rows[0].id)).rejects.toMatchObject({
      code: 'subscription_deleted',
    })
  })

  it('[S15, D3] ends what was held, and does not delay others', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.held')
    const other = await subscribe(receiver, 'stop.other')
    receiver.gate.close()
    await start(receiver)
    // More than is put aside at a time.
    await publish('stop.held', 700)
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0)
    await switchTo(id, false)
    receiver.gate.open()
    await expect.poll(async () => (await held(id)) + (await count(id, { status: 'Completed' }))).toBe(700)
    const waiting = await held(id)
    expect(waiting).toBeGreaterThan(0)
    await deleteSubscription(admin(), id)
    await publish('stop.other', 5)
    await expect.poll(() => count(other, { status: 'Completed' })).toBe(5)
    await expect.poll(() => count(id, { final_error_code: 'subscription_deleted' })).toBe(waiting)
    expect(await violations()).toEqual([])
  })
})

it('[S15, J11] a limit lowered while a delivery waits: the dead letter and the log name its last job', async () => {
  const receiver = await receive()
  const id = await subscribe(receiver, 'stop.limit')
  receiver.status = 500
  const lines = await start(receiver)
  await publish('stop.limit', 1)
  await expect.poll(() => count(id, { status: 'PendingRetry' })).toBe(1)
  await changeSubscription(admin(), id, { maxAttempts: 1 }, { allowedCidrs })
  await moveClock(database.pool, '1 hour')
  await expect.poll(() => count(id, { status: 'DeadLettered', final_error_code: 'http_500' })).toBe(1)
  const { rows } = await database.pool.query(
    'SELECT saga_id, job_id, worker_id, lease_expiration FROM sagapost.dead_letters WHERE subscription_id = $1',
    [id],
  )
  expect(rows).toMatchObject([{ job_id: expect.any(String), worker_id: expect.any(String) }])
  await expect
    .poll(() => lines.find((line) => line['msg'] === 'delivery dead-lettered'))
    .toMatchObject({
      ...rows[0],
      lease_expiration: rows[0].lease_expiration.toISOString(),
      error_code: 'http_500',
    })
})

describe('a subscription that is inactive', () => {
  it('[U5, S13, J12] has its open deliveries held without using attempts; they continue when it is active again', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.off')
    await start(receiver)
    await answerOnce(receiver, 'stop.off', id)
    receiver.status = 500
    await publish('stop.off', 2)
    await expect.poll(() => count(id, { status: 'PendingRetry' })).toBe(2)
    receiver.gate.close()
    receiver.status = 200
    await publish('stop.off', 30)
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(2)
    await switchTo(id, false)
    await expect.poll(async () => (await held(id)) + receiver.requests.length).toBe(32)
    const sent = receiver.requests.length
    receiver.gate.open()
    await expect.poll(() => count(id, { status: 'Completed' })).toBe(1 + sent - 2)
    // What falls due meanwhile is held as well.
    await moveClock(database.pool, '1 hour')
    await expect.poll(() => held(id)).toBe(32 - (sent - 2))
    expect(receiver.requests).toHaveLength(sent)
    expect(await violations()).toEqual([])

    await switchTo(id, true)
    await expect.poll(() => count(id, { status: 'Completed' })).toBe(1 + 32)
    expect(receiver.requests).toHaveLength(34)
    expect([await count(id, { attempt_count: 1 }), await count(id, { attempt_count: 2 })]).toEqual([31, 2])
    expect(await violations()).toEqual([])
  })

  it('[U4, U6] after a change of URL, has them sent there once it is verified', async () => {
    const former = await receive()
    const next = await receive()
    const id = await subscribe(former, 'stop.moved')
    former.gate.close()
    await start(former)
    await publish('stop.moved', 20)
    await expect.poll(() => former.requests.length).toBeGreaterThan(0)
    await changeSubscription(admin(), id, { callbackUrl: `${next.url}/hooks` }, { allowedCidrs })
    await expect.poll(async () => (await held(id)) + former.requests.length).toBe(20)
    const sent = former.requests.length
    former.gate.open()
    await verify(next, id)
    await expect.poll(() => count(id, { status: 'Completed' })).toBe(20)
    expect([former.requests.length, next.requests.length]).toEqual([sent, 20 - sent])
  })

  it('[U5, S17] holds them after its receiver has answered 410', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.gone')
    receiver.status = 410
    await start(receiver)
    await publish('stop.gone', 1)
    const isActive = async () => {
      const { rows } = await database.pool.query('SELECT active FROM sagapost.subscriptions WHERE id = $1', [
        id,
      ])
      return rows[0].active
    }
    await expect.poll(isActive).toBe(false)
    await expect.poll(() => count(id, { status: 'PendingRetry' })).toBe(1)
    await moveClock(database.pool, '1 hour')
    await expect.poll(() => held(id)).toBe(1)
    receiver.status = 200
    await switchTo(id, true)
    await expect.poll(() => count(id, { status: 'Completed', attempt_count: 2 })).toBe(1)
    expect(receiver.requests).toHaveLength(2)
    // The note of it goes when nothing is left to do.
    await moveClock(database.pool, '3 minutes')
    const notes = async () =>
      (
        await database.pool.query('SELECT FROM sagapost.subscription_switches WHERE subscription_id = $1', [
          id,
        ])
      ).rows
    await expect.poll(async () => (await notes()).length).toBe(0)
  })
})

describe('a delivery that is cancelled', () => {
  it('[S5, S17, D3, D4] ends as a dead letter in any state, is Completed if it arrives, and can be requeued', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.one')
    await start(receiver)
    await answerOnce(receiver, 'stop.one', id)
    receiver.status = 500
    await publish('stop.one', 1)
    await expect.poll(() => count(id, { status: 'PendingRetry' })).toBe(1)
    receiver.status = 200
    receiver.gate.close()
    await publish('stop.one', 30)
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(1)
    const [, ...all] = (await deliveries(id)).map((row) => row.id)
    expect(all).toHaveLength(31)
    for (const each of all) await cancelDelivery(operator(), each)
    const dead = { status: 'DeadLettered', final_error_code: 'cancelled' }
    await expect.poll(async () => (await count(id, dead)) + receiver.requests.length).toBe(32)
    const sent = receiver.requests.length - 1
    receiver.gate.open()
    await expect.poll(() => count(id, { status: 'Completed' })).toBe(1 + sent)
    expect(receiver.requests).toHaveLength(sent + 1)
    expect(await violations()).toEqual([])
    const marks = () => database.pool.query('SELECT FROM sagapost.delivery_cancellations')
    await expect.poll(async () => (await marks()).rows.length).toBe(0)

    const ended = (await deliveries(id)).find((row) => row.final_error_code === 'cancelled')
    await cancelDelivery(operator(), ended.id)
    const done = (await deliveries(id)).find((row) => row.status === 'Completed')
    await expect(cancelDelivery(operator(), done.id)).rejects.toMatchObject({
      code: 'delivery_not_cancellable',
    })
    await expect(cancelDelivery(operator(), '999999999')).rejects.toMatchObject({
      code: 'delivery_not_found',
    })
    const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
      ended.id,
    ])
    const { deliveryId } = await requeueDeadLetter(operator(), rows[0].id)
    const requeued = async () => (await deliveries(id)).find((row) => row.id === deliveryId)?.status
    await expect.poll(requeued).toBe('Completed')
  })

  it('[S5, D3] ends although its subscription is inactive', async () => {
    const receiver = await receive()
    const id = await subscribe(receiver, 'stop.held-one')
    receiver.gate.close()
    await start(receiver)
    await publish('stop.held-one', 20)
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0)
    await switchTo(id, false)
    await expect.poll(async () => (await held(id)) + receiver.requests.length).toBe(20)
    const waiting = await held(id)
    const { rows } = await database.pool.query(
      `SELECT saga_id FROM sagapost.webhook_delivery_jobs WHERE subscription_id = $1 AND status = 'Pending' LIMIT 1`,
      [id],
    )
    await cancelDelivery(operator(), rows[0].saga_id)
    await expect.poll(() => count(id, { final_error_code: 'cancelled' })).toBe(1)
    expect(await held(id)).toBe(waiting - 1)
    receiver.gate.open()
  })
})
