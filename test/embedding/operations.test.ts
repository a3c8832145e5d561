import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { bodies, subscribe, useInstances } from './use-instances.js'

const database = useDatabase()
const { embed, receive } = useInstances()

it('[U2, U4, O8] subscriptions: created, read, listed, changed, verified, tested, rotated, deleted', async () => {
  const receiver = await receive()
  const { subscriptions } = embed({ databaseUrl: database.url, parts: [] }, receiver)
  const values = {
    eventType: 'operate.all',
    callbackUrl: `${receiver.url}hooks`,
    headers: { 'x-tenant': '7' },
  }
  const created = await subscriptions.create(values, { idempotencyKey: 'operate-1' })
  expect(created).toMatchObject({ ...values, active: false, verified: false, breaker: null })
  expect(created.secret).toMatch(/^whsec_/)
  expect(await subscriptions.create(values, { idempotencyKey: 'operate-1' })).toEqual(created)

  const { id, secret: _, ...shown } = created
  expect(await subscriptions.get(id)).toEqual({ id, ...shown })
  expect(await subscriptions.get('no id')).toBeNull()
  expect(await subscriptions.list({ eventType: 'operate.all' })).toEqual({
    data: [{ id, ...shown }],
    nextCursor: null,
  })

  expect(await subscriptions.test(id)).toMatchObject({
    delivered: true,
    responseStatus: 204,
    errorCode: null,
  })
  await expect(subscriptions.change(id, { active: true })).rejects.toMatchObject({
    code: 'subscription_not_verified',
  })
  expect(await subscriptions.verify(id)).toMatchObject({ verified: true, response: { responseStatus: 200 } })
  expect(await subscriptions.change(id, { maxAttempts: 3 })).toMatchObject({ maxAttempts: 3, active: true })
  const rotated = await subscriptions.rotateSecret(id, { overlapMs: 60_000 })
  expect(rotated.secret).not.toBe(created.secret)
  expect(rotated.previousExpiresAt).toBeInstanceOf(Date)

  expect(await subscriptions.delete(id)).toMatchObject({ active: false, deletedAt: expect.any(Date) })
  await expect(subscriptions.verify(id)).rejects.toMatchObject({ code: 'subscription_deleted' })
  const absent = ['change', 'delete', 'verify', 'rotateSecret', 'test'] as const
  for (const name of absent) {
    await expect(subscriptions[name]('987654', {})).rejects.toMatchObject({ code: 'subscription_not_found' })
  }
})

it('[U4] a failed verification shows the reason', async () => {
  const { subscriptions } = embed({ databaseUrl: database.url, parts: [] }, await receive())
  const { id } = await subscriptions.create({
    eventType: 'operate.shut',
    callbackUrl: 'https://127.0.0.1:1/',
  })
  expect(await subscriptions.verify(id)).toMatchObject({
    verified: false,
    reason: 'request_failed',
    response: { delivered: false, errorCode: 'connection_refused', responseStatus: null },
  })
})

it('[E3] events: many concurrent calls, answered one by one, in order; found again by type', async () => {
  const instance = embed({ databaseUrl: database.url, parts: [] })
  const batch = [
    { type: 'operate.many', payload: { n: 1 }, idempotencyKey: 'many-1' },
    { type: 'operate many', payload: {} },
    { type: 'operate.many', payload: () => {} },
    { type: 'operate.many', payloadJson: '{ "n": 2 }' },
    { type: 'operate.many', payload: { n: 1 }, idempotencyKey: 'many-1' },
    { type: 'operate.many', payload: { n: 3 }, idempotencyKey: 'many-1' },
  ]
  const outcomes = await instance.events.publishMany(batch)
  expect(outcomes).toMatchObject([
    { type: 'operate.many', duplicate: false, createdAt: expect.any(Date) },
    { error: { code: 'event_type_invalid', field: 'type' } },
    { error: { code: 'payload_invalid', field: 'payload' } },
    { duplicate: false },
    { duplicate: true },
    { error: { code: 'idempotency_conflict' } },
  ])
  const { data } = await instance.events.list({ type: 'operate.many', limit: 10 })
  expect(data).toHaveLength(2)
  await expect(
    instance.events.publishMany(Array.from({ length: 1_001 }, () => ({ type: 'operate.many', payload: 1 }))),
  ).rejects.toMatchObject({ code: 'event_invalid' })
  expect(await instance.metrics()).toMatch(/sagapost_events_ingested_total\{outcome="stored"\} 2/)
})

it('[E3] a key that another transaction holds is reported, not waited for indefinitely', async () => {
  const instance = embed({ databaseUrl: database.url, parts: [] })
  const event = { type: 'operate.busy', payload: 1, idempotencyKey: 'busy-1' }
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    await instance.publish(client, event)
    await expect(instance.events.publishMany([event])).rejects.toMatchObject({ code: 'idempotency_key_busy' })
    await client.query('ROLLBACK')
  } finally {
    client.release()
  }
  expect(await instance.events.publishMany([event])).toMatchObject([{ duplicate: false }])
})

it('[S17, D2, D4] dead letters: found with their payload, requeued once, delivered', async () => {
  let status = 500
  const receiver = await receive(() => ({ status }))
  const instance = embed({ databaseUrl: database.url, retryLimit: 1 }, receiver)
  await instance.start()
  const subscription = await subscribe(instance, receiver, 'operate.dead')
  await instance.events.publishMany([{ type: 'operate.dead', payloadJson: '{"n":  1}' }])
  const letters = async () => (await instance.deadLetters.list({ subscriptionId: subscription.id })).data
  await expect.poll(async () => (await letters()).length).toBe(1)
  const [letter] = await letters()
  const { id = '', deliveryId = '' } = letter ?? {}
  expect(await instance.deadLetters.get(id)).toEqual({ ...letter, payloadSnapshotJson: '{"n":  1}' })
  expect(await instance.deliveries.get(deliveryId)).toMatchObject({
    status: 'DeadLettered',
    attempts: [{ responseStatus: 500, errorCode: 'http_500' }],
  })

  status = 204
  const requeued = await instance.deadLetters.requeue(id)
  expect(requeued.created).toBe(true)
  expect(await instance.deadLetters.requeue(id)).toEqual({ ...requeued, created: false })
  await expect
    .poll(async () => (await instance.deliveries.get(requeued.deliveryId))?.status)
    .toBe('Completed')
  expect(bodies(receiver)).toEqual(['{"n":  1}', '{"n":  1}'])
  await expect(instance.deadLetters.requeue('no id')).rejects.toMatchObject({ code: 'dead_letter_not_found' })
  expect([
    await instance.deadLetters.get('0'),
    await instance.deliveries.get('x'),
    await instance.events.get('-1'),
  ]).toEqual([null, null, null])
})
