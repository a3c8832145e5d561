import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { type BreakerPolicy, storeEvents } from '../../src/delivery/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { partNames } from '../../src/runtime/index.js'
import { type PartName, startParts } from '../../src/runtime/start-parts.js'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'

const database = useDatabase()
const apiKey = 'the-administrators-key-of-the-environment'
const masterKey = Buffer.alloc(32, 7)
const loopback = '127.0.0.0/8'
const env = {
  DATABASE_URL: database.url,
  SAGAPOST_API_KEY: apiKey,
  SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
  SAGAPOST_ALLOWED_CIDRS: loopback,
  SAGAPOST_REQUEST_TIMEOUT: '50s',
  SAGAPOST_LEASE_DURATION: '60s',
  SAGAPOST_CONCURRENCY: '20',
}

beforeAll(() => installClock(database.pool))

const parts = (
  receiver: Receiver,
  {
    only = partNames,
    concurrency = 20,
    ...options
  }: { only?: readonly PartName[]; concurrency?: number; breakerPolicy?: BreakerPolicy } = {},
) =>
  startParts({
    databaseUrl: database.url,
    config: { ...readConfig(env), masterKey, concurrency },
    only,
    ...options,
    log: pino({ level: 'error' }, pino.destination(2)),
    metrics: createMetrics(),
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })

/** A subscription that was verified over HTTPS; the receiver answers the challenge first. */
async function subscribe(receiver: Receiver, eventType: string): Promise<{ id: string; secret: string }> {
  const admin = database.as('subscription_admin')
  const box = createSecretBox(masterKey)
  const { subscription, secret } = await createSubscription(
    admin,
    { eventType, callbackUrl: `${receiver.url}/hooks` },
    { box, allowedCidrs: [loopback] },
  )
  const sender = createWebhookSender({
    requestTimeoutMs: 30_000,
    allowedCidrs: [loopback],
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  const outcome = await verifySubscription(admin, subscription.id, { box, sender })
  await sender.close()
  expect(outcome).toMatchObject({ verified: true })
  receiver.requests.length = 0
  return { id: subscription.id, secret }
}

type Respond = NonNullable<NonNullable<Parameters<typeof startReceiver>[0]>['respond']>

/** Answers challenges as a receiver should, and everything else as configured. */
const answering =
  (respond: Respond): Respond =>
  (request) => {
    const body = JSON.parse(request.body.toString())
    if (body?.type !== 'sagapost.subscription.verification') return respond(request)
    return { status: 200, body: JSON.stringify({ challenge: body.challenge }) }
  }

const deliveries = async (subscriptionId: string) => {
  const { rows } = await database.pool.query(
    `SELECT status, attempt_count, final_error_code FROM sagapost.webhook_delivery_sagas WHERE subscription_id = $1 ORDER BY id`,
    [subscriptionId],
  )
  return rows
}

const completed = async (subscriptionId: string) =>
  (await deliveries(subscriptionId)).filter(({ status }) => status === 'Completed').length

/** Jobs that are being sent, or whose result has not been counted. */
const unsettled = async (subscriptionId: string) => {
  const { rows } = await database.pool.query(
    `SELECT FROM sagapost.webhook_delivery_jobs AS job
     JOIN sagapost.webhook_delivery_sagas AS saga ON saga.id = job.saga_id AND saga.event_id = job.event_id
     WHERE job.subscription_id = $1 AND job.status <> 'Pending' AND job.attempt > saga.attempt_count`,
    [subscriptionId],
  )
  return rows.length
}

/** Jobs that may be claimed. */
const free = async (subscriptionId: string) => {
  const { rows } = await database.pool.query(
    `SELECT FROM sagapost.webhook_delivery_jobs WHERE subscription_id = $1 AND status = 'Pending'`,
    [subscriptionId],
  )
  return rows.length
}

const publish = (type: string, payloads: string[]) =>
  storeEvents(
    database.as('event_ingest_writer'),
    payloads.map((payload) => ({ type, payload })),
  )

describe('an event from end to end', () => {
  it('[S7, S18, J6, E1, R2] every event arrives once, signed and byte for byte, and its delivery is Completed', async () => {
    const receiver = await startReceiver({ respond: answering(() => ({ status: 204 })) })
    const { id, secret } = await subscribe(receiver, 'flow.all')
    const running = await parts(receiver)
    const payloads = Array.from({ length: 300 }, (_, n) => `{ "n":${n},  "text": "\\u0000 ü" }`)
    await publish('flow.all', payloads)
    running.wakeups.wake('routing')
    await expect
      .poll(async () => (await deliveries(id)).filter(({ status }) => status === 'Completed').length)
      .toBe(payloads.length)
    await running.stop()
    expect(receiver.requests.map(({ body }) => body.toString()).sort()).toEqual(payloads.toSorted())
    for (const { headers, body } of receiver.requests) {
      new Webhook(secret).verify(body, headers as Record<string, string>)
    }
    expect(new Set((await deliveries(id)).map(({ attempt_count }) => attempt_count))).toEqual(new Set([1]))
    await receiver.stop()
  })

  it('[O6, S17, D3, D4] retries until the limit, dead-letters, and delivers after a requeue', async () => {
    let broken = true
    const receiver = await startReceiver({ respond: answering(() => ({ status: broken ? 500 : 200 })) })
    const { id } = await subscribe(receiver, 'flow.dead')
    const running = await parts(receiver)
    await publish('flow.dead', ['{"order": 7}'])
    for (const attempt of [1, 2, 3, 4, 5]) {
      await expect.poll(async () => (await deliveries(id))[0]?.attempt_count).toBe(attempt)
      await moveClock(database.pool, '1 hour')
    }
    expect(await deliveries(id)).toEqual([
      { status: 'DeadLettered', attempt_count: 5, final_error_code: 'http_500' },
    ])
    expect(receiver.requests.map(({ headers }) => headers['sagapost-attempt'])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ])

    broken = false
    const { rows } = await database.pool.query(
      'SELECT id FROM sagapost.dead_letters WHERE subscription_id = $1',
      [id],
    )
    await database.as('dead_letter_operator').query('SELECT sagapost.requeue_dead_letter($1)', [rows[0].id])
    await expect.poll(async () => (await deliveries(id))[1]?.status).toBe('Completed')
    await running.stop()
    expect(receiver.requests).toHaveLength(6)
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    await receiver.stop()
  })

  it('[U5, S17] a receiver that answers 410 is deactivated, by subscription_admin only', async () => {
    const receiver = await startReceiver({ respond: answering(() => ({ status: 410 })) })
    const { id } = await subscribe(receiver, 'flow.gone')
    const running = await parts(receiver)
    await publish('flow.gone', ['{}'])
    const subscription = async () => {
      const { rows } = await database.pool.query(
        'SELECT active, deactivation_reason FROM sagapost.subscriptions WHERE id = $1',
        [id],
      )
      return rows[0]
    }
    await expect.poll(subscription).toEqual({ active: false, deactivation_reason: 'http_410' })
    // Two parts read the result, in any order.
    await expect
      .poll(() => deliveries(id))
      .toMatchObject([{ attempt_count: 1, final_error_code: 'http_410' }])
    await running.stop()
    await receiver.stop()
  })

  it('[J5] a clean stop finishes requests under way and gives the rest back: nothing arrives twice', async () => {
    const gate: { open?: () => void } = {}
    const waiting = new Promise<void>((resolve) => {
      gate.open = resolve
    })
    const receiver = await startReceiver({
      respond: answering(async () => {
        await waiting
        return { status: 200 }
      }) as Respond,
    })
    const { id } = await subscribe(receiver, 'flow.stop')
    const first = await parts(receiver)
    await publish(
      'flow.stop',
      Array.from({ length: 60 }, (_, n) => `{"n":${n}}`),
    )
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0)
    const stopped = first.stop()
    gate.open?.()
    await stopped
    const { rows } = await database.pool.query(
      `SELECT FROM sagapost.webhook_delivery_jobs WHERE subscription_id = $1 AND status = 'Leased'`,
      [id],
    )
    expect(rows).toHaveLength(0)
    const second = await parts(receiver)
    await expect
      .poll(async () => (await deliveries(id)).filter(({ status }) => status === 'Completed').length)
      .toBe(60)
    await second.stop()
    expect(receiver.requests).toHaveLength(60)
    await receiver.stop()
  })
})

describe('endpoints that are slow or dead', () => {
  it('[J3] a slow one with a backlog does not delay the others', async () => {
    const gate: { open?: () => void } = {}
    const waiting = new Promise<void>((resolve) => {
      gate.open = resolve
    })
    const slow = await startReceiver({
      respond: answering(async () => {
        await waiting
        return { status: 200 }
      }) as Respond,
    })
    const quick = await startReceiver({ respond: answering(() => ({ status: 200 })) })
    const slowId = (await subscribe(slow, 'flow.slow')).id
    const quickId = (await subscribe(quick, 'flow.quick')).id
    const running = await parts(slow, { concurrency: 4 })
    await publish(
      'flow.slow',
      Array.from({ length: 50 }, (_, n) => `{"n":${n}}`),
    )
    // Neither has answered yet: they share two slots.
    await expect.poll(() => slow.requests.length).toBe(1)
    await publish(
      'flow.quick',
      Array.from({ length: 20 }, (_, n) => `{"n":${n}}`),
    )
    await expect.poll(() => completed(quickId)).toBe(20)
    expect([slow.requests.length, await completed(slowId)]).toEqual([1, 0])
    gate.open?.()
    await expect.poll(() => completed(slowId)).toBe(50)
    await running.stop()
    for (const each of [slow, quick]) await each.stop()
  })

  it('[S13, J3] a dead one is paused: one request each interval, which is an attempt, and all others wait without using theirs', async () => {
    let dead = true
    const receiver = await startReceiver({ respond: answering(() => ({ status: dead ? 503 : 200 })) })
    const { id } = await subscribe(receiver, 'flow.paused')
    const breakerPolicy = {
      failuresMin: 5,
      failingMsMin: 10_000,
      underLoad: { outcomes: 50, failures: 45, withinMs: 60_000 },
      // However long the test takes, none is due but those for which the clock is moved.
      probeEveryMs: 1_800_000,
      pauseMsMax: 86_400_000,
    }
    const running = await parts(receiver, { breakerPolicy })
    const breaker = async () => {
      const { rows } = await database.pool.query(
        'SELECT failures, opened_at, last_error_code FROM sagapost.subscription_breakers WHERE subscription_id = $1',
        [id],
      )
      return rows[0]
    }
    await publish('flow.paused', ['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}'])
    await expect.poll(async () => (await breaker())?.failures).toBe(4)
    expect((await breaker()).opened_at).toBeNull()
    await moveClock(database.pool, '31 seconds')
    await expect.poll(async () => (await breaker())?.opened_at).toBeInstanceOf(Date)
    await expect.poll(() => unsettled(id)).toBe(0)
    const sent = receiver.requests.length
    const attempts = async () =>
      (await deliveries(id)).reduce((sum, { attempt_count }) => sum + attempt_count, 0)
    const counted = await attempts()
    expect(counted).toBe(sent)

    // Hours in which all retries are due, and new events: one attempt at a time, reported and counted like any other.
    await publish('flow.paused', ['{"n":5}', '{"n":6}'])
    for (const probe of [1, 2, 3]) {
      await expect.poll(() => free(id)).toBeGreaterThan(0)
      await moveClock(database.pool, '1 hour')
      await expect.poll(attempts).toBe(counted + probe)
      expect(receiver.requests.length).toBe(sent + probe)
    }
    expect((await breaker()).last_error_code).toBe('http_503')

    dead = false
    await expect.poll(() => free(id)).toBeGreaterThan(0)
    await moveClock(database.pool, '1 hour')
    await expect.poll(breaker).toBeUndefined()
    // Some are due later, by their own schedule.
    await moveClock(database.pool, '1 hour')
    await expect.poll(() => completed(id)).toBe(6)
    await running.stop()
    await receiver.stop()
  })
})
