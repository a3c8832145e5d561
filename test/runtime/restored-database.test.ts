import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, expect, inject, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import { createRolePool, type DatabaseRole } from '../../src/database/index.js'
import { storeEvents } from '../../src/delivery/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { partNames } from '../../src/runtime/index.js'
import { startParts } from '../../src/runtime/start-parts.js'
import { createSecretBox, createSubscription, verifySubscription } from '../../src/subscriptions/index.js'
import { createWebhookSender } from '../../src/webhook/index.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'
import { TEMPLATE } from '../support/start-postgres.js'

const masterKey = Buffer.alloc(32, 7)
const loopback = '127.0.0.0/8'
const config = {
  ...readConfig({
    DATABASE_URL: inject('serverUrl'),
    SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
    SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
    SAGAPOST_ALLOWED_CIDRS: loopback,
  }),
  masterKey,
}

const made: string[] = []
afterAll(async () => {
  for (const url of made) await onServer((admin) => admin.query(`DROP DATABASE ${nameOf(url)} WITH (FORCE)`))
})

const nameOf = (url: string) => new URL(url).pathname.slice(1)

async function onServer(work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('serverUrl') })
  await admin.connect()
  await work(admin).finally(() => admin.end())
}

/** A copy of all there is in a database that nobody uses, its sequences included, as a backup holds it. */
async function copyDatabase(from: string): Promise<string> {
  const url = new URL(inject('serverUrl'))
  url.pathname = `copy_${randomBytes(6).toString('hex')}`
  await onServer((admin) => admin.query(`CREATE DATABASE ${nameOf(url.href)} TEMPLATE ${from}`))
  made.push(url.href)
  return url.href
}

async function withRole<T>(url: string, role: DatabaseRole, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = createRolePool({ databaseUrl: url, role, connectionsMax: 2 })
  return await work(pool).finally(() => pool.end())
}

/** Publishes events and delivers them; their ids. */
async function publishAndDeliver(url: string, receiver: Receiver, payloads: string[]): Promise<string[]> {
  const running = await startParts({
    databaseUrl: url,
    config,
    only: partNames,
    log: pino({ level: 'error' }, pino.destination(2)),
    metrics: createMetrics(),
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  const before = receiver.requests.length
  const stored = await withRole(url, 'event_ingest_writer', (pool) =>
    storeEvents(
      pool,
      payloads.map((payload) => ({ type: 'order.placed', payload })),
    ),
  )
  running.wakeups.wake('routing')
  await withRole(url, 'saga_readonly_role', (pool) =>
    expect
      .poll(async () => {
        const { rows } = await pool.query(
          `SELECT count(*)::int AS open FROM sagapost.webhook_delivery_sagas WHERE status <> 'Completed'`,
        )
        return [receiver.requests.length - before, rows[0].open]
      })
      .toEqual([payloads.length, 0]),
  )
  await running.stop()
  return stored.map((outcome) => ('id' in outcome ? outcome.id : 'refused'))
}

it('[J3] a receiver that drops the ids it has seen gets every event that is published after a restore', async () => {
  const handled = new Map<unknown, string>()
  const receiver = await startReceiver({
    respond({ headers, body }) {
      const { type, challenge } = JSON.parse(body.toString())
      if (type === 'sagapost.subscription.verification') return { body: JSON.stringify({ challenge }) }
      // As docs/reference/signing.md tells it to.
      if (!handled.has(headers['webhook-id'])) handled.set(headers['webhook-id'], body.toString())
      return { status: 204 }
    },
  })
  const live = await copyDatabase(TEMPLATE)
  const sender = createWebhookSender({
    requestTimeoutMs: 30_000,
    allowedCidrs: [loopback],
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  await withRole(live, 'subscription_admin', async (admin) => {
    const box = createSecretBox(masterKey)
    const wanted = { eventType: 'order.placed', callbackUrl: `${receiver.url}/hooks` }
    const { subscription } = await createSubscription(admin, wanted, { box, allowedCidrs: [loopback] })
    expect(await verifySubscription(admin, subscription.id, { box, sender })).toMatchObject({
      verified: true,
    })
  })
  await sender.close()

  await publishAndDeliver(live, receiver, ['{"saved":1}', '{"saved":2}'])
  const restored = await copyDatabase(nameOf(live))
  const lost = await publishAndDeliver(live, receiver, ['{"lost":1}', '{"lost":2}', '{"lost":3}'])
  const fresh = await publishAndDeliver(restored, receiver, ['{"new":1}', '{"new":2}', '{"new":3}'])
  await receiver.stop()

  expect(fresh).toEqual(lost)
  expect([...handled.values()].sort()).toEqual([
    '{"lost":1}',
    '{"lost":2}',
    '{"lost":3}',
    '{"new":1}',
    '{"new":2}',
    '{"new":3}',
    '{"saved":1}',
    '{"saved":2}',
  ])
})
