import { beforeAll, describe, expect, it } from 'vitest'
import {
  getDeadLetter,
  getDelivery,
  listDeadLetters,
  requeueDeadLetter,
} from '../../../src/delivery/index.js'
import { SagapostError } from '../../../src/errors/index.js'
import { useDatabase } from '../../support/database.js'
import { type Delivery, insertDelivery, insertJob } from '../../support/fixtures.js'
import { walkPages } from '../../support/walk-pages.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'

const database = useDatabase()
const readOnly = () => database.as('saga_readonly_role')
const get = (id: string) => getDeadLetter(readOnly(), id)
const list = (filter = {}) => listDeadLetters(readOnly(), filter)
const requeue = (id: string) => requeueDeadLetter(database.as('dead_letter_operator'), id)
const noIds = ['0', '99999999', '-1', 'abc', '', '9223372036854775808', '01', ' 1']

async function letterOf(delivery: Delivery): Promise<string> {
  const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
    delivery.id,
  ])
  return rows[0].id
}

async function insertLetter(): Promise<{ id: string; delivery: Delivery }> {
  const delivery = await insertDelivery(database.pool, 'DeadLettered')
  return { id: await letterOf(delivery), delivery }
}

describe('one dead letter', () => {
  it('[D1, D2, J11] comes with its payload byte for byte and the details of its last attempt', async () => {
    const payload = '{ "b":1,"a" : 1e400, "a":"\\u0000" }'
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const jobId = await insertJob(database.pool, delivery, 'Failed')
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas
       SET status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500' WHERE id = $1`,
      [delivery.id],
    )
    await database.pool.query('ALTER TABLE sagapost.events DISABLE TRIGGER event_is_append_only')
    await database.pool.query('UPDATE sagapost.events SET payload = $2 WHERE id = $1', [
      delivery.eventId,
      payload,
    ])
    await database.pool.query('ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_is_append_only')
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'DeadLettered' WHERE id = $1`,
      [delivery.id],
    )
    const id = await letterOf(delivery)
    expect(await get(id)).toEqual({
      id,
      deliveryId: delivery.id,
      eventId: delivery.eventId,
      webhookId: await webhookIdOfStored(database.pool, delivery.eventId),
      subscriptionId: delivery.subscriptionId,
      eventType: 'order.placed',
      finalErrorCode: 'http_500',
      failedAt: expect.any(Date),
      attemptCount: 1,
      jobId,
      workerId: 'worker-1',
      leaseExpiration: expect.any(Date),
      correlationId: null,
      requeuedAs: null,
      payloadSnapshot: payload,
    })
  })

  it.each(noIds)('[D1] that does not exist is null: %j', async (id) => {
    await insertLetter()
    expect(await get(id)).toBeNull()
  })
})

describe('requeueing', () => {
  it('[D4, S19] creates a delivery once; the dead letter and the delivery refer to each other', async () => {
    const { id, delivery } = await insertLetter()
    const first = await requeue(id)
    expect(first).toEqual({ deliveryId: expect.any(String), created: true })
    expect(await requeue(id)).toEqual({ ...first, created: false })
    expect(await get(id)).toMatchObject({ requeuedAs: first.deliveryId })
    expect((await list({ limit: 1 })).data[0]).toMatchObject({ id, requeuedAs: first.deliveryId })
    expect(await getDelivery(readOnly(), first.deliveryId)).toMatchObject({
      eventId: delivery.eventId,
      subscriptionId: delivery.subscriptionId,
      status: 'Pending',
      attemptCount: 0,
      requeuedFrom: id,
      attempts: [],
    })
  })

  it.each(noIds)('[D4] is refused where there is no dead letter: %j', async (id) => {
    const error = await requeue(id).catch((reason) => reason)
    expect(error).toBeInstanceOf(SagapostError)
    expect(error.code).toBe('dead_letter_not_found')
    expect(error.message).toMatch(/^there is no (such )?dead letter/)
  })

  it('[D4, U5] is refused when the subscription is inactive, and works again when it is active', async () => {
    const { id, delivery } = await insertLetter()
    const setActive = (active: boolean) =>
      database.pool.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [
        delivery.subscriptionId,
        active,
      ])
    await setActive(false)
    await expect(requeue(id)).rejects.toMatchObject({ name: 'SagapostError', code: 'subscription_inactive' })
    expect(await get(id)).toMatchObject({ requeuedAs: null })
    await setActive(true)
    expect(await requeue(id)).toMatchObject({ created: true })
  })

  it('[O7] that is refused a hundred times keeps its connection', async () => {
    const pool = database.as('dead_letter_operator')
    const pid = async () => (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
    const before = await pid()
    for (let time = 0; time < 100; time++) await requeue('99999999').catch(() => {})
    expect(await pid()).toBe(before)
  })
})

describe('a list of dead letters', () => {
  const start = Date.parse('2030-01-01T00:00:00Z')
  const from = new Date(start)
  /** Newest first. Three in each millisecond, the last two of them in the same microsecond before the first. */
  const made: { id: string; subscriptionId: string; eventType: string; code: string; at: number }[] = []
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)

  beforeAll(async () => {
    await database.pool.query('ALTER TABLE sagapost.dead_letters DISABLE TRIGGER USER')
    for (let index = 0; index < 12; index++) {
      const at = start + Math.floor(index / 3)
      const row = {
        subscriptionId: String(1_000 + (index % 4)),
        eventType: index % 2 === 0 ? 'order.paid' : 'order.placed',
        code: index % 3 === 0 ? 'timeout' : 'http_500',
      }
      const { rows } = await database.pool.query(
        `INSERT INTO sagapost.dead_letters
           (saga_id, event_id, subscription_id, event_type, final_error_code, failed_at, payload_snapshot, attempt_count)
         VALUES ($1, 1, $2, $3, $4, $5::timestamptz + $6::int * interval '1 microsecond', '{}', 5) RETURNING id`,
        [
          1_000_000 + index,
          row.subscriptionId,
          row.eventType,
          row.code,
          new Date(at),
          index % 3 === 0 ? 7 : 0,
        ],
      )
      made.splice(index % 3 === 0 ? 0 : 1, 0, { id: rows[0].id, ...row, at })
    }
  })

  it('[D1] is newest first, whole objects without payloads', async () => {
    const { data, nextCursor } = await list({ from })
    expect(idsOf(data)).toEqual(idsOf(made))
    const { payloadSnapshot, ...one } = (await get(made[4]?.id as string)) ?? {}
    expect(data[4]).toEqual(one)
    expect(nextCursor).toBeNull()
  })

  it.each([1, 2, 3, 4, 5, 11, 12, 200])('[D1] comes whole in pages of %i', async (limit) => {
    expect(idsOf(await walkPages(list, { from, limit }))).toEqual(idsOf(made))
  })

  it('[D1] can be asked for by subscription, type, error code and time, together and in pages', async () => {
    const filters = [
      { subscriptionId: '1001' },
      { eventType: 'order.paid' },
      { errorCode: 'timeout' },
      { to: new Date(start + 2) },
      { from: new Date(start + 1), to: new Date(start + 2) },
      { subscriptionId: '1002', errorCode: 'http_500' },
      { eventType: 'order.placed', errorCode: 'http_500', to: new Date(start + 3) },
    ]
    for (const filter of filters) {
      const expected = made.filter(
        (one) =>
          (filter.subscriptionId === undefined || one.subscriptionId === filter.subscriptionId) &&
          (filter.eventType === undefined || one.eventType === filter.eventType) &&
          (filter.errorCode === undefined || one.code === filter.errorCode) &&
          (filter.from === undefined || one.at >= filter.from.getTime()) &&
          (filter.to === undefined || one.at < filter.to.getTime()),
      )
      expect(expected.length).toBeGreaterThan(0)
      const seen = await walkPages(list, { from, ...filter, limit: 2 })
      expect(idsOf(seen), JSON.stringify(filter)).toEqual(idsOf(expected))
    }
    for (const filter of [{ subscriptionId: '9' }, { subscriptionId: 'x' }, { errorCode: 'http_418' }]) {
      expect(await list({ from, ...filter })).toEqual({ data: [], nextCursor: null })
    }
  })

  it('[D1] neither repeats nor skips when another dies between two pages', async () => {
    const first = await list({ from, limit: 5 })
    await insertLetter()
    await database.pool.query(
      `INSERT INTO sagapost.dead_letters
         (saga_id, event_id, subscription_id, event_type, failed_at, payload_snapshot, attempt_count)
       VALUES (2000000, 1, 1, 'order.paid', $1, '{}', 5)`,
      [new Date(start + 1_000)],
    )
    const second = await list({ from, cursor: first.nextCursor })
    expect(idsOf([...first.data, ...second.data])).toEqual(idsOf(made))
  })

  it.each([
    { limit: 0 },
    { limit: 201 },
    { cursor: 'abc' },
    { cursor: Buffer.from('12').toString('base64url') },
    { from: new Date(Number.NaN) },
    { errorCode: '' },
    { errorCode: 'http\0' },
    { errorCode: "'" },
  ])('[D1] is refused in one clear line: %j', async (filter) => {
    const error = await list(filter).catch((reason) => reason)
    expect(error).toBeInstanceOf(SagapostError)
    expect(error.code).toBe('query_invalid')
    expect(error.message).toMatch(/^(limit|cursor|from|errorCode) must be /)
  })

  it('[D1] refuses a type that no event has', async () => {
    await expect(list({ eventType: 'order\0' })).rejects.toMatchObject({ code: 'event_type_invalid' })
  })
})
