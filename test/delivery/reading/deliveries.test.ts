import { beforeAll, describe, expect, it } from 'vitest'
import { getDelivery, listDeliveries } from '../../../src/delivery/index.js'
import { SagapostError } from '../../../src/errors/index.js'
import { type DeliveryStatus, deliveryMachine } from '../../../src/model/index.js'
import { useDatabase } from '../../support/database.js'
import {
  type Delivery,
  insertDelivery,
  insertDeliveryWithoutEvent,
  insertJob,
} from '../../support/fixtures.js'
import { walkPages } from '../../support/walk-pages.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'

const database = useDatabase()
const get = (id: string) => getDelivery(database.as('saga_readonly_role'), id)
const list = (filter = {}) => listDeliveries(database.as('saga_readonly_role'), filter)

describe('one delivery', () => {
  it('[S1, J1] comes with its attempts, oldest first', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const failed = await insertJob(database.pool, delivery, 'Failed')
    for (const change of [
      `status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500'`,
      `status = 'InProgress'`,
    ]) {
      await database.pool.query(`UPDATE sagapost.webhook_delivery_sagas SET ${change} WHERE id = $1`, [
        delivery.id,
      ])
    }
    const active = await insertJob(database.pool, delivery, 'Leased')
    await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
    const found = await get(delivery.id)
    expect(found).toEqual({
      id: delivery.id,
      eventId: delivery.eventId,
      webhookId: await webhookIdOfStored(database.pool, delivery.eventId),
      subscriptionId: delivery.subscriptionId,
      status: 'InProgress',
      attemptCount: 1,
      nextAttemptAt: expect.any(Date),
      finalErrorCode: 'http_500',
      requeuedFrom: null,
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
      attempts: [
        expect.objectContaining({ id: failed, status: 'Failed' }),
        {
          id: active,
          status: 'Leased',
          attemptAt: expect.any(Date),
          workerId: 'worker-1',
          responseStatus: null,
          errorCode: null,
          durationMs: null,
          responseExcerpt: null,
          leaseUntil: expect.any(Date),
          leaseResets: 0,
          finishedAt: null,
        },
      ],
    })
  })

  it('[J3] has no webhook id to show when the partition of its event was removed', async () => {
    const id = await insertDeliveryWithoutEvent(database.pool, '999999')
    const { attempts, ...delivery } = (await get(id)) ?? {}
    expect(delivery).toMatchObject({ eventId: '999999', webhookId: null })
    expect((await list({ eventId: '999999' })).data).toEqual([delivery])
  })

  it('[S11] that is final has no next attempt', async () => {
    const { id } = await insertDelivery(database.pool, 'Completed')
    expect(await get(id)).toMatchObject({ status: 'Completed', nextAttemptAt: null, attempts: [] })
  })

  it.each(['0', '99999999', '-1', '1.0', 'abc', '', '9223372036854775808', '1'.repeat(40), '01', ' 1', '１'])(
    '[S1] that does not exist is null: %j',
    async (id) => {
      await insertDelivery(database.pool)
      expect(await get(id)).toBeNull()
    },
  )
})

describe('a list of deliveries', () => {
  const made: (Delivery & { status: DeliveryStatus })[] = []
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)

  beforeAll(async () => {
    await database.pool.query('ALTER SEQUENCE sagapost.webhook_delivery_sagas_id_seq RESTART 1000000')
    for (let index = 0; index < 15; index++) {
      const status = deliveryMachine.statuses[index % 5] as DeliveryStatus
      const delivery = await insertDelivery(database.pool, status)
      // One waits for a worker, one is under way, one waits for its result to be applied.
      const job = (['Pending', 'Leased', 'Completed'] as const)[Math.floor(index / 5)]
      if (status === 'InProgress') await insertJob(database.pool, delivery, job)
      made.unshift({ ...delivery, status })
    }
  })

  it('[S1] is newest first, whole objects without attempts', async () => {
    const { data } = await list({ limit: 15 })
    expect(idsOf(data)).toEqual(idsOf(made))
    const { attempts, ...one } = (await get(made[3]?.id as string)) ?? {}
    expect(data[3]).toEqual(one)
  })

  it.each([1, 2, 3, 4, 14, 200])('[S1] comes whole in pages of %i', async (limit) => {
    const all = await walkPages(list, { limit })
    expect(idsOf(all).slice(0, 15)).toEqual(idsOf(made))
    expect(new Set(idsOf(all)).size).toBe(all.length)
  })

  it.each(deliveryMachine.statuses)('[S5] can be asked for by status: %s', async (status) => {
    const newest = (await walkPages(list, { status, limit: 2 })).slice(0, 3)
    expect(newest).toHaveLength(3)
    expect(idsOf(newest)).toEqual(idsOf(made.filter((one) => one.status === status)))
    for (const { id, eventId, subscriptionId } of newest) {
      expect(idsOf((await list({ status, subscriptionId })).data)).toEqual([id])
      expect(idsOf((await list({ status, eventId })).data)).toEqual([id])
    }
  })

  it('[S1] can be asked for by event and by subscription, together and with a status', async () => {
    const [one] = made as [Delivery & { status: DeliveryStatus }]
    const { eventId, subscriptionId, status } = one
    for (const filter of [{ eventId }, { subscriptionId }, { eventId, subscriptionId, status }]) {
      expect(idsOf((await list(filter)).data), JSON.stringify(filter)).toEqual([one.id])
    }
    expect(await list({ eventId, subscriptionId: made[1]?.subscriptionId })).toEqual({
      data: [],
      nextCursor: null,
    })
    expect((await list({ eventId, status: 'Pending' })).data).toEqual([])
  })

  it.each([
    { eventId: 'abc' },
    { subscriptionId: '9223372036854775808' },
    { eventId: '', status: 'Pending' },
  ])('[S1] is empty for an id that cannot exist: %j', async (filter) => {
    expect(await list(filter)).toEqual({ data: [], nextCursor: null })
  })

  it('[S1] neither repeats nor skips when one is added and others move between two pages', async () => {
    const pending = made.filter(({ status }) => status === 'Pending')
    const first = await list({ limit: 7 })
    await insertDelivery(database.pool)
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = ANY ($1)`,
      [pending.map(({ id }) => id)],
    )
    const second = await list({ limit: 8, cursor: first.nextCursor })
    expect(idsOf([...first.data, ...second.data])).toEqual(idsOf(made))
  })

  it.each([
    { limit: 0 },
    { limit: 201 },
    { limit: 1.5 },
    { limit: Number.NaN },
    { cursor: '' },
    { cursor: 'abc' },
    { cursor: Buffer.from('12 34').toString('base64url') },
    { cursor: Buffer.from('9223372036854775808').toString('base64url') },
    { cursor: `${Buffer.from('12').toString('base64url')}!` },
    { status: 'pending' },
    { status: '' },
  ])('[S1] is refused in one clear line: %j', async (filter) => {
    const error = await list(filter).catch((reason) => reason)
    expect(error).toBeInstanceOf(SagapostError)
    expect(error.code).toBe('query_invalid')
    expect(error.message).toMatch(/^(limit|cursor|status) must be /)
  })
})
