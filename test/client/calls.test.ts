import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  createClient,
  type Delivery,
  type EventReceipt,
  SagapostApiError,
  type SagapostClient,
  SagapostConnectionError,
} from '../../src/client/index.js'
import { inTransaction } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery } from '../support/fixtures.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'
import { insertSaga, insertStuckSaga } from '../support/sagas.js'

const database = useDatabase()
const server = useSagapost(database)
const connect = (apiKey = adminKey): SagapostClient => createClient({ baseUrl: server.url, apiKey })

/** Active, verified over HTTPS, at the test's receiver. */
async function subscribe(eventType: string, more: { maxAttempts?: number } = {}) {
  const { subscriptions } = connect()
  const created = await subscriptions.create({
    eventType,
    callbackUrl: `${server.receiver.url}hooks`,
    ...more,
  })
  expect(await subscriptions.verify(created.id)).toEqual({ verified: true, active: true })
  return created
}

describe('events', () => {
  it('[E3] publishes, reports a duplicate, and refuses the key for another event', async () => {
    const { events } = connect()
    const event = { type: 'client.order', payload: { order: 7 }, idempotencyKey: 'client-7' }
    const first = await events.publish(event)
    expect(first).toEqual({
      id: expect.stringMatching(/^\d+$/),
      type: 'client.order',
      createdAt: expect.any(String),
      duplicate: false,
      webhookId: expect.stringMatching(/^evt_\d+_\w+$/),
    })
    expectTypeOf(first).toEqualTypeOf<EventReceipt>()
    expect(await events.publish(event)).toEqual({ ...first, duplicate: true })
    await expect(events.publish({ ...event, payload: 8 })).rejects.toMatchObject({
      name: 'SagapostApiError',
      status: 409,
      code: 'idempotency_conflict',
    })
  })

  it.each([
    '{ "b":1,  "a": 1e400, "big": 12345678901234567890, "z":"\\u0000\\ud800 ü" }',
    '[1.0, 10e-1,\t"\\/"]',
    '"text"',
    'null',
    `${'['.repeat(500)}${']'.repeat(500)}`,
  ])('[E1] payloadJson keeps its bytes, there and back: %s', async (payloadJson) => {
    const { events } = connect()
    const { id } = await events.publish({ type: 'client.bytes', payloadJson })
    const found = await events.get(id)
    expect(found.payloadJson).toBe(payloadJson)
    expect(found).toMatchObject({
      id,
      type: 'client.bytes',
      payload: JSON.parse(payloadJson),
      deliveries: [],
    })
  })

  it('refuses before sending what cannot be sent unchanged', async () => {
    const { events } = connect()
    const publish = (event: object) => events.publish({ type: 'client.bad', ...event } as never)
    await expect(publish({ payload: undefined })).rejects.toThrow(TypeError)
    await expect(publish({ payload: 1n })).rejects.toThrow(TypeError)
    for (const payloadJson of ['', '{', '1,"idempotencyKey":"x"', '"\ud800"', '1 2']) {
      await expect(publish({ payloadJson })).rejects.toThrow(TypeError)
    }
    expect((await events.list({ type: 'client.bad' })).data).toEqual([])
  })

  it('publishes batches, answered in order; the same batch again stores nothing', async () => {
    const { events } = connect()
    const batch = [
      { type: 'client.batch', payload: 1 },
      { type: 'not a type', payload: 2 },
      { type: 'client.batch', payloadJson: '3.0' },
    ]
    const first = await events.publishBatch(batch, { idempotencyKey: 'batch-1', correlationId: 'c-1' })
    expect(first).toEqual([
      expect.objectContaining({ type: 'client.batch', duplicate: false }),
      { error: { code: 'event_type_invalid', detail: expect.any(String) } },
      expect.objectContaining({ type: 'client.batch', duplicate: false }),
    ])
    const again = await events.publishBatch(batch, { idempotencyKey: 'batch-1' })
    expect(again[0]).toEqual({ ...first[0], duplicate: true })
    const { data } = await events.list({ type: 'client.batch' })
    expect(data.map(({ correlationId }) => correlationId)).toEqual(['c-1', 'c-1'])
  })

  it('lists by type and time, and walks all pages', async () => {
    const { events } = connect()
    const count = 205 // more than a page holds
    const sent = await events.publishBatch(
      Array.from({ length: count }, (_, n) => ({ type: 'client.many', payload: n })),
    )
    const ids: string[] = []
    for await (const { id } of events.all({ type: 'client.many' })) ids.push(id)
    expect(ids).toEqual(sent.map((each) => ('id' in each ? each.id : '')).reverse())
    const page = await events.list({ type: 'client.many', limit: 3 })
    expect(page.data.map(({ id }) => id)).toEqual(ids.slice(0, 3))
    const next = await events.list({ type: 'client.many', limit: 3, cursor: page.nextCursor ?? '' })
    expect(next.data.map(({ id }) => id)).toEqual(ids.slice(3, 6))
    const { data } = await events.list({ type: 'client.many', to: new Date(0) })
    expect(data).toEqual([])
  })
})

describe('subscriptions', () => {
  it('[U1, U6, O8] creates, reads, changes, lists, rotates, tests and deletes', async () => {
    const { subscriptions } = connect()
    const given = { eventType: 'client.sub', callbackUrl: `${server.receiver.url}hooks`, maxAttempts: 2 }
    const created = await subscriptions.create(given, { idempotencyKey: 'sub-1' })
    expect(created).toMatchObject({ ...given, active: false, verified: false })
    expect(created.secret).toMatch(/^whsec_/)
    expect(await subscriptions.create(given, { idempotencyKey: 'sub-1' })).toEqual(created)
    const { id, secret, ...shown } = created
    expect(await subscriptions.get(id)).toEqual({ id, ...shown })

    await expect(subscriptions.change(id, { active: true })).rejects.toMatchObject({
      status: 409,
      code: 'subscription_not_verified',
    })
    expect(await subscriptions.verify(id)).toEqual({ verified: true, active: true })
    expect(await subscriptions.change(id, { active: false })).toMatchObject({ active: false, verified: true })
    const inactive = await subscriptions.list({ eventType: 'client.sub', active: false })
    expect(inactive.data.map((each) => each.id)).toEqual([id])
    expect((await subscriptions.list({ eventType: 'client.sub', active: true })).data).toEqual([])

    const rotated = await subscriptions.rotateSecret(id, { overlapMs: 60_000, idempotencyKey: 'rotate-1' })
    expect(rotated.secret).not.toBe(secret)
    expect(await subscriptions.rotateSecret(id, { overlapMs: 60_000, idempotencyKey: 'rotate-1' })).toEqual(
      rotated,
    )
    expect(await subscriptions.test(id)).toMatchObject({ delivered: true, responseStatus: 200 })

    expect(await subscriptions.delete(id)).toBeUndefined()
    await subscriptions.delete(id)
    expect((await subscriptions.get(id)).deletedAt).toEqual(expect.any(String))
    const all: string[] = []
    for await (const each of subscriptions.all({ eventType: 'client.sub', deleted: true })) all.push(each.id)
    expect(all).toEqual([id])
  })

  it('[U4] gives the reason when a verification failed', async () => {
    const { subscriptions } = connect()
    const callbackUrl = 'https://127.0.0.1:1/hooks'
    const { id } = await subscriptions.create({ eventType: 'client.away', callbackUrl })
    const error = await subscriptions.verify(id).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SagapostApiError)
    expect(error).toMatchObject({
      status: 422,
      code: 'verification_failed',
      problem: {
        reason: expect.any(String),
        response: { delivered: false, errorCode: 'connection_refused' },
      },
    })
  })
})

describe('deliveries and dead letters', () => {
  it('[O6, D4] follows a delivery to its dead letter, requeues it, and sees it completed', async () => {
    const { events, deliveries, deadLetters } = connect()
    const { id: subscriptionId } = await subscribe('client.dead', { maxAttempts: 1 })
    server.answer = () => ({ status: 500, body: 'broken' })
    const payloadJson = '{"n": 1.50}'
    const { id: eventId } = await events.publish({ type: 'client.dead', payloadJson })
    await expect.poll(async () => (await deliveries.list({ eventId })).data[0]?.status).toBe('DeadLettered')
    const [dead] = (await deliveries.list({ eventId, status: 'DeadLettered' })).data
    expectTypeOf(dead).toEqualTypeOf<Delivery | undefined>()
    expect(await deliveries.get(dead?.id ?? '')).toMatchObject({
      subscriptionId,
      attempts: [{ status: 'Failed', responseStatus: 500, errorCode: 'http_500', responseExcerpt: 'broken' }],
    })

    const [letter] = (await deadLetters.list({ subscriptionId, errorCode: 'http_500' })).data
    expect(letter).toMatchObject({ deliveryId: dead?.id, eventId, requeuedAs: null })
    server.answer = () => ({ status: 200 })
    const requeued = await deadLetters.requeue(letter?.id ?? '')
    expect(await deadLetters.requeue(letter?.id ?? '')).toEqual(requeued)
    await expect.poll(async () => (await deliveries.get(requeued.deliveryId)).status).toBe('Completed')
    expect(await deadLetters.get(letter?.id ?? '')).toMatchObject({
      payloadSnapshotJson: payloadJson,
      payloadSnapshot: { n: 1.5 },
      requeuedAs: requeued.deliveryId,
    })
    const all: string[] = []
    for await (const { id } of deadLetters.all({ subscriptionId })) all.push(id)
    expect(all).toEqual([letter?.id])
  })

  it('walks all deliveries', async () => {
    // In one transaction: the server's orchestrator would take it up half-way.
    const { id, subscriptionId } = await inTransaction(database.pool, (client) =>
      insertDelivery(client, 'Completed'),
    )
    const all: string[] = []
    for await (const each of connect().deliveries.all({ subscriptionId })) all.push(each.id)
    expect(all).toEqual([id])
  })
})

describe('errors', () => {
  it('carry status, code, detail and the fields', async () => {
    const error = await connect()
      .deliveries.list({ limit: 9_999 })
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      status: 400,
      code: 'request_invalid',
      detail: expect.stringContaining('limit'),
      errors: [{ field: 'limit', detail: expect.any(String) }],
      retryAfterS: undefined,
    })
    await expect(connect('wrong').events.list()).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
    })
    await expect(connect().events.get('999999')).rejects.toMatchObject({
      status: 404,
      code: 'event_not_found',
    })
    await expect(connect().events.get('../subscriptions')).rejects.toMatchObject({ status: 404 })
  })

  it('of an invalid client configuration are thrown at once', async () => {
    for (const baseUrl of ['nonsense', 'ftp://host', 'http://user:pass@host', 'http://host/?a=1']) {
      expect(() => createClient({ baseUrl, apiKey: 'key' })).toThrow(TypeError)
    }
    expect(() => createClient({ baseUrl: server.url, apiKey: 'a b' })).toThrow(TypeError)
    expect(() => createClient({ baseUrl: server.url, apiKey: '' })).toThrow(TypeError)
    for (const id of ['', '.', '..']) await expect(connect().events.get(id)).rejects.toThrow(TypeError)
  })

  it('report a server that cannot be reached', async () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key', retries: 0 })
    const error = await client.events.list().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SagapostConnectionError)
    expect(error).toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('127.0.0.1:1'),
    })
  })
})

describe('sagas', () => {
  it('[G14] gets, lists, cancels and resolves', async () => {
    const { sagas } = connect()
    const app = database.as('saga_app_role')
    const made: string[] = []
    for (const _ of [1, 2, 3]) made.unshift(await insertSaga(app, { definition: 'client' }))
    const seen: string[] = []
    for await (const { id } of sagas.all({ definition: 'client' })) seen.push(id)
    expect(seen).toEqual(made)
    expect((await sagas.list({ definition: 'client', state: 'Running' })).data).toEqual([])
    const [id = ''] = made
    expect(await sagas.get(id)).toMatchObject({ id, input: { order: 7 }, steps: [{ name: 'wait' }] })
    const asked = { by: 'ann', why: 'tried' }
    expect(await sagas.cancel(id, asked)).toMatchObject({ id, cancelReason: 'tried' })

    const stuck = await insertStuckSaga(app)
    const waiting = await sagas.list({ awaitingOperator: true })
    expect(waiting.data.map((each) => each.id)).toContain(stuck)
    expect(await sagas.resolve(stuck, { action: 'skip', ...asked })).toMatchObject({ state: 'Compensating' })
    await expect(sagas.resolve(stuck, { action: 'skip', ...asked })).rejects.toMatchObject({
      status: 409,
      code: 'saga_not_awaiting_operator',
    })
    await expect(sagas.cancel(stuck, asked)).rejects.toMatchObject({ code: 'saga_not_cancellable' })
    await expect(sagas.get('nobody')).rejects.toMatchObject({ status: 404, code: 'saga_not_found' })
  })
})
