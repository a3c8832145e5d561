import { beforeAll, describe, expect, it } from 'vitest'
import { getEvent, listEvents } from '../../../src/delivery/index.js'
import { SagapostError } from '../../../src/errors/index.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertEvent, insertSubscription } from '../../support/fixtures.js'
import { walkPages } from '../../support/walk-pages.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'

const database = useDatabase()
const get = (id: string) => getEvent(database.as('saga_readonly_role'), id)
const list = (filter = {}) => listEvents(database.as('saga_readonly_role'), filter)
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)

describe('one event', () => {
  it('[E1] comes with its payload byte for byte and its deliveries, newest first', async () => {
    const payload = '{ "b":1,"a" : 1e400, "a":"\\u0000" }'
    const { id: first, eventId } = await insertDelivery(database.pool)
    await insertDelivery(database.pool)
    const { rows } = await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2) RETURNING id`,
      [eventId, await insertSubscription(database.pool)],
    )
    const found = await get(eventId)
    expect(found).toMatchObject({ id: eventId, type: 'order.placed', payload: '{"order": 7}' })
    expect(idsOf(found?.deliveries ?? [])).toEqual([rows[0].id, first])
    expect(found?.deliveriesNextCursor).toBeNull()

    const bare = await insertEvent(database.pool, { type: 'order.paid', payload })
    expect(await get(bare)).toEqual({
      id: bare,
      webhookId: await webhookIdOfStored(database.pool, bare),
      type: 'order.paid',
      createdAt: expect.any(Date),
      correlationId: null,
      payload,
      deliveries: [],
      deliveriesNextCursor: null,
    })
  })

  it('[E1] shows at most 200 deliveries and where to list the others', async () => {
    const eventId = await insertEvent(database.pool)
    const { rows: subscriptions } = await database.pool.query<{ id: string }>(
      `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
       SELECT 'order.placed', 'https://receiver.example/', true, true FROM generate_series(1, 201) RETURNING id`,
    )
    await database.pool.query(
      'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT $1, unnest($2::bigint[])',
      [eventId, idsOf(subscriptions)],
    )
    const found = await get(eventId)
    expect(found?.deliveries).toHaveLength(200)
    expect(found?.deliveriesNextCursor).toEqual(expect.any(String))
  })

  it.each(['0', '99999999', '-1', 'abc', '', '9223372036854775807', '9223372036854775808', '01', ' 1'])(
    '[E1] that does not exist is null: %j',
    async (id) => {
      await insertEvent(database.pool)
      expect(await get(id)).toBeNull()
    },
  )

  it('[J3] is found by its webhook id, and not by that of an earlier event with the same id', async () => {
    const id = await insertEvent(database.pool)
    const webhookId = await webhookIdOfStored(database.pool, id)
    for (const name of [id, webhookId, `evt_${id}`]) expect(await get(name)).toMatchObject({ id, webhookId })
    for (const other of [
      `${webhookId}0`,
      webhookId.slice(0, -1),
      `evt_${id}_`,
      `evt_0${id}`,
      `evt_x_${id}`,
    ]) {
      expect([other, await get(other)]).toEqual([other, null])
    }
    expect(await get(webhookId.toUpperCase())).toBeNull()
  })
})

describe('a list of events', () => {
  const start = Date.parse('2030-01-01T00:00:00Z')
  /** Newest first. Three events in each millisecond, the last two of them in the same microsecond before the first. */
  const made: { id: string; type: string; at: number }[] = []

  beforeAll(async () => {
    for (let index = 0; index < 12; index++) {
      const at = start + Math.floor(index / 3)
      const type = index % 4 === 0 ? 'order.paid' : 'order.placed'
      const { rows } = await database.pool.query(
        `INSERT INTO sagapost.events (event_type, payload, created_at)
         VALUES ($1, '{}', $2::timestamptz + $3::int * interval '1 microsecond') RETURNING id`,
        [type, new Date(at), index % 3 === 0 ? 7 : 0],
      )
      made.splice(index % 3 === 0 ? 0 : 1, 0, { id: rows[0].id, type, at })
    }
    // Ids do not follow time: the event with the highest id is the oldest of all.
    const { rows } = await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload, created_at) VALUES ('order.late', '{}', $1) RETURNING id`,
      [new Date(start - 1)],
    )
    made.push({ id: rows[0].id, type: 'order.late', at: start - 1 })
  })
  const from = new Date(start - 1)

  it('[E1] is newest first, without payloads', async () => {
    const { data, nextCursor } = await list({ from })
    expect(data.map(({ id, type, createdAt }) => ({ id, type, at: createdAt.getTime() }))).toEqual(made)
    expect(Object.keys(data[0] ?? {})).toEqual(['id', 'webhookId', 'type', 'createdAt', 'correlationId'])
    for (const { id, webhookId } of data) expect(webhookId).toBe(await webhookIdOfStored(database.pool, id))
    expect(nextCursor).toBeNull()
  })

  it.each([1, 2, 3, 4, 5, 12, 13, 200])('[E1] comes whole in pages of %i', async (limit) => {
    expect(idsOf(await walkPages(list, { from, limit }))).toEqual(idsOf(made))
  })

  it.each([1, 2])('[E1] of one type comes whole in pages of %i', async (limit) => {
    const paid = made.filter(({ type }) => type === 'order.paid')
    expect(idsOf(await walkPages(list, { from, type: 'order.paid', limit }))).toEqual(idsOf(paid))
    expect(await list({ from, type: 'order.never' })).toEqual({ data: [], nextCursor: null })
  })

  it('[E1] takes from inclusive and to exclusive, together with a type and a cursor', async () => {
    const range = { from: new Date(start + 1), to: new Date(start + 3) }
    const within = made.filter(({ at }) => at >= start + 1 && at < start + 3)
    expect(idsOf((await list(range)).data)).toEqual(idsOf(within))
    const placed = within.filter(({ type }) => type === 'order.placed')
    expect(idsOf(await walkPages(list, { ...range, type: 'order.placed', limit: 2 }))).toEqual(idsOf(placed))
    expect((await list({ from: range.to, to: range.from })).data).toEqual([])
  })

  it('[E1] neither repeats nor skips when events come in between two pages, late ones among them', async () => {
    const first = await list({ from, limit: 5 })
    await insertEvent(database.pool)
    await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload, created_at) VALUES ('order.late', '{}', $1), ('order.late', '{}', $2)`,
      [new Date(start + 100), new Date(start + 2)],
    )
    const second = await list({ from, limit: 200, cursor: first.nextCursor })
    const seen = idsOf([...first.data, ...second.data])
    expect(seen.filter((id) => made.some((one) => one.id === id))).toEqual(idsOf(made))
    expect(new Set(seen).size).toBe(seen.length)
  })

  it.each([
    { limit: 0 },
    { limit: 201 },
    { cursor: 'abc' },
    { cursor: '' },
    { cursor: Buffer.from('12').toString('base64url') },
    { cursor: Buffer.from('12 -5').toString('base64url') },
    { cursor: Buffer.from('12 99999999999999999').toString('base64url') },
    { cursor: Buffer.from('12 5 6').toString('base64url') },
    { from: new Date(Number.NaN) },
    { to: new Date(-8.64e15) },
    { to: '2030-01-01T00:00:00Z' },
  ])('[E1] is refused in one clear line: %j', async (filter) => {
    const error = await list(filter).catch((reason) => reason)
    expect(error).toBeInstanceOf(SagapostError)
    expect(error.code).toBe('query_invalid')
    expect(error.message).toMatch(/^(limit|cursor|from|to) must be /)
  })

  it.each(['', 'order placed', 'order\0', 'x'.repeat(101)])(
    '[E1] refuses an invalid type: %j',
    async (type) => {
      await expect(list({ type })).rejects.toMatchObject({ code: 'event_type_invalid' })
    },
  )

  it('[E1] accepts the largest possible cursor', async () => {
    const cursor = Buffer.from('9223372036854775807 9999999999999999').toString('base64url')
    expect((await list({ from, cursor, limit: 1 })).data).toHaveLength(1)
  })
})
