import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertEvent, insertJob } from '../support/fixtures.js'
import { webhookIdOfStored } from '../support/webhook-ids.js'
import { useApi } from './api-server.js'

const database = useDatabase()
let requeues = 0
const api = useApi(database, () => ({
  wakeups: {
    wake: (stage) => {
      if (stage === 'first-jobs') requeues += 1
    },
  },
}))
const get = (path: string) => api.call('GET', path)

/** All pages, with something done between them. */
async function walk(path: string, between: () => Promise<unknown>): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await get(`${path}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(status).toBe(200)
    ids.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.nextCursor
    await between()
  }
  return ids
}

describe('events', () => {
  it('[E1] one with its payload and deliveries', async () => {
    const delivery = await insertDelivery(database.pool)
    const { status, body } = await get(`/v1/events/${delivery.eventId}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      id: delivery.eventId,
      webhookId: await webhookIdOfStored(database.pool, delivery.eventId),
      type: 'order.placed',
      createdAt: expect.stringMatching(/Z$/),
      correlationId: null,
      payload: { order: 7 },
      deliveries: [expect.objectContaining({ id: delivery.id, status: 'Pending' })],
      deliveriesNextCursor: null,
    })
    expect(await get('/v1/events/999999')).toMatchObject({ status: 404, body: { code: 'event_not_found' } })
  })

  it('[J3] one by its webhook id; 404 for that of another event with the same id', async () => {
    const id = await insertEvent(database.pool)
    const webhookId = await webhookIdOfStored(database.pool, id)
    expect(await get(`/v1/events/${webhookId}`)).toMatchObject({ status: 200, body: { id, webhookId } })
    expect(await get(`/v1/events/evt_${id}_1z`)).toMatchObject({
      status: 404,
      body: { code: 'event_not_found' },
    })
  })

  it('[E1] lists page by page, newest first, while others are stored', async () => {
    const made: string[] = []
    for (const _ of [1, 2, 3, 4, 5]) made.push(await insertEvent(database.pool, { type: 'paged' }))
    const seen = await walk('/v1/events?type=paged', () => insertEvent(database.pool, { type: 'paged' }))
    expect(seen).toEqual(made.reverse())
  })

  it('[R1] refused events, with their reasons, page by page', async () => {
    await database.pool.query(
      `INSERT INTO sagapost.set_aside_events (event_id, event_type, correlation_id, error_code, reason)
       SELECT id, 'aside', 'c-' || id, 'partition_missing', 'no partition' FROM generate_series(1, 3) AS id`,
    )
    const first = await get('/v1/events/set-aside?limit=2')
    const item = (eventId: string) => ({
      ...{ eventId, type: 'aside', correlationId: `c-${eventId}` },
      ...{ errorCode: 'partition_missing', reason: 'no partition', setAsideAt: expect.stringMatching(/Z$/) },
    })
    expect(first).toMatchObject({ status: 200, body: { data: [item('3'), item('2')] } })
    const last = await get(`/v1/events/set-aside?limit=2&cursor=${first.body.nextCursor}`)
    expect(last).toMatchObject({ status: 200, body: { data: [item('1')], nextCursor: null } })
  })

  it('[E1] from is inclusive, to exclusive', async () => {
    const id = await insertEvent(database.pool, { type: 'timed' })
    // To the microsecond, as the database has it.
    const { rows } = await database.pool.query(
      `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS exact, created_at
       FROM sagapost.events WHERE id = $1`,
      [id],
    )
    const created = new Date(rows[0].created_at).toISOString()
    const later = new Date(rows[0].created_at.getTime() + 1).toISOString()
    const count = async (query: string) => (await get(`/v1/events?type=timed&${query}`)).body.data.length
    expect(await count(`from=${created}&to=${later}`)).toBe(1)
    expect(await count(`from=${later}`)).toBe(0)
    expect(await count(`to=${created}`)).toBe(0)
    const inOffset = encodeURIComponent('2020-01-01T00:00:00+02:00')
    expect(await count(`from=${inOffset}`)).toBe(1)
  })

  it.each([
    'from=yesterday',
    'from=2026-02-30T00:00:00Z',
    'to=1',
    'limit=1000',
    'cursor=zzz',
    'type=',
    'status=x',
    'from=0000-01-01T00:00:00Z',
  ])('[E1] refuse ?%s', async (query) => {
    const { status, body } = await get(`/v1/events?${query}`)
    expect([status, body.status]).toEqual(query === 'type=' ? [422, 422] : [400, 400])
  })
})

describe('deliveries', () => {
  it('[S1, J3] one with its attempts, spelled as the contract has them', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const jobId = await insertJob(database.pool, delivery, 'Failed')
    const { status, body } = await get(`/v1/deliveries/${delivery.id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      id: delivery.id,
      eventId: delivery.eventId,
      webhookId: await webhookIdOfStored(database.pool, delivery.eventId),
      subscriptionId: delivery.subscriptionId,
      status: 'InProgress',
      attemptCount: 0,
      nextAttemptAt: expect.stringMatching(/Z$/),
      finalErrorCode: null,
      requeuedFrom: null,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      attempts: [
        {
          id: jobId,
          status: 'Failed',
          attemptAt: expect.stringMatching(/Z$/),
          workerId: 'worker-1',
          responseStatus: null,
          errorCode: null,
          durationMs: null,
          responseExcerpt: null,
          leaseUntil: null,
          leaseResets: 0,
          finishedAt: null,
        },
      ],
    })
    expect(await get('/v1/deliveries/x')).toMatchObject({ status: 404, body: { code: 'delivery_not_found' } })
  })

  it('[S1] lists by status, event and subscription, page by page', async () => {
    const made: string[] = []
    for (const _ of [1, 2, 3]) made.push((await insertDelivery(database.pool, 'Completed')).id)
    expect(
      await walk('/v1/deliveries?status=Completed', () => insertDelivery(database.pool, 'Completed')),
    ).toEqual(made.reverse())
    const other = await insertDelivery(database.pool)
    const by = async (query: string) =>
      (await get(`/v1/deliveries?${query}`)).body.data.map(({ id }: { id: string }) => id)
    expect(await by(`eventId=${other.eventId}`)).toEqual([other.id])
    expect(await by(`subscriptionId=${other.subscriptionId}&status=Pending`)).toEqual([other.id])
    expect(await by(`subscriptionId=${other.subscriptionId}&status=Completed`)).toEqual([])
    for (const query of ['status=pending', 'eventId=x', 'eventId=-1', 'cursor=x']) {
      expect((await get(`/v1/deliveries?${query}`)).status).toBe(400)
    }
  })
})

describe('dead letters', () => {
  const letterOf = async (deliveryId: string) =>
    (await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [deliveryId]))
      .rows[0].id

  it('[D1, D2] one with the payload as it was; requeued once, and the same again', async () => {
    const delivery = await insertDelivery(database.pool, 'DeadLettered')
    const id = await letterOf(delivery.id)
    const { status, body } = await get(`/v1/dead-letters/${id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id,
      deliveryId: delivery.id,
      eventId: delivery.eventId,
      subscriptionId: delivery.subscriptionId,
      eventType: 'order.placed',
      finalErrorCode: 'http_500',
      failedAt: expect.stringMatching(/Z$/),
      payloadSnapshot: { order: 7 },
      requeuedAs: null,
    })

    const before = requeues
    const first = await api.call('POST', `/v1/dead-letters/${id}/requeue`)
    expect([first.status, first.body]).toEqual([201, { deliveryId: expect.stringMatching(/^\d+$/) }])
    const again = await api.call('POST', `/v1/dead-letters/${id}/requeue`)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(requeues).toBe(before + 1)
    expect((await get(`/v1/dead-letters/${id}`)).body.requeuedAs).toBe(first.body.deliveryId)
    expect((await get(`/v1/deliveries/${first.body.deliveryId}`)).body).toMatchObject({
      status: 'Pending',
      requeuedFrom: id,
    })
  })

  it('[D4] cannot be requeued to a subscription that is not active, or when there is none', async () => {
    const delivery = await insertDelivery(database.pool, 'DeadLettered')
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [
      delivery.subscriptionId,
    ])
    expect(await api.call('POST', `/v1/dead-letters/${await letterOf(delivery.id)}/requeue`)).toMatchObject({
      status: 409,
      body: { code: 'subscription_inactive' },
    })
    for (const id of ['999999', 'x', '0']) {
      const missing = { status: 404, body: { code: 'dead_letter_not_found' } }
      expect(await api.call('POST', `/v1/dead-letters/${id}/requeue`)).toMatchObject(missing)
      expect(await get(`/v1/dead-letters/${id}`)).toMatchObject(missing)
    }
  })

  it('[D1] lists by subscription, type, error and time', async () => {
    const delivery = await insertDelivery(database.pool, 'DeadLettered')
    const id = await letterOf(delivery.id)
    const by = async (query: string) => {
      const { body } = await get(`/v1/dead-letters?${query}`)
      return body.data.map((letter: { id: string }) => letter.id)
    }
    expect(await by(`subscriptionId=${delivery.subscriptionId}`)).toEqual([id])
    expect(
      await by(`subscriptionId=${delivery.subscriptionId}&eventType=order.placed&errorCode=http_500`),
    ).toEqual([id])
    expect(await by(`subscriptionId=${delivery.subscriptionId}&errorCode=timeout`)).toEqual([])
    expect(await by('to=2020-01-01T00:00:00Z')).toEqual([])
    expect((await get('/v1/dead-letters?errorCode=NO')).status).toBe(400)
    const seen = await walk('/v1/dead-letters?eventType=order.placed', () =>
      insertDelivery(database.pool, 'DeadLettered'),
    )
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen[0]).toBe(id)
  })
})
