import { beforeAll, describe, expect, it } from 'vitest'
import { listDeliveries, requeueDeadLetter } from '../../../src/delivery/index.js'
import type { DeliveryFilter } from '../../../src/delivery/reading/list-deliveries.js'
import { type DeliveryStatus, deliveryMachine } from '../../../src/model/index.js'
import { useDatabase } from '../../support/database.js'
import { type Delivery, insertDelivery, insertJob, insertSubscription } from '../../support/fixtures.js'
import { walkPages } from '../../support/walk-pages.js'

const database = useDatabase()
const list = (filter: DeliveryFilter) => listDeliveries(database.as('saga_readonly_role'), filter)
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

async function requeue({ id }: Delivery): Promise<string> {
  const letters = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [id])
  const made = await requeueDeadLetter(database.as('dead_letter_operator'), letters.rows[0].id)
  return made.deliveryId
}

const moveTo = (id: string, status: DeliveryStatus) =>
  database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas
     SET status = $2::sagapost.delivery_status, attempt_count = attempt_count + ($2 = 'Completed')::int WHERE id = $1`,
    [id, status],
  )

describe('the deliveries of one subscription', () => {
  let subscriptionId: string
  /** Newest first. */
  const made: (Delivery & { status: DeliveryStatus; requeued: boolean })[] = []

  /**
   * Forty in all statuses, mixed, each followed by one of another subscription; those under way wait for a worker, are
   * sent, or wait for their results. Then three that were dead and are requeued: one waits, one is under way, one is done.
   */
  beforeAll(async () => {
    const { pool } = database
    // From four digits to five: ids are numbers, and must not be sorted as text.
    await pool.query('ALTER SEQUENCE sagapost.webhook_delivery_sagas_id_seq RESTART 9950')
    subscriptionId = await insertSubscription(pool)
    const other = await insertSubscription(pool)
    const jobs = ['Pending', 'Leased', 'Completed', 'Failed'] as const
    for (let index = 0; index < 40; index++) {
      const status = deliveryMachine.statuses[(index * 3 + Math.floor(index / 5)) % 5] as DeliveryStatus
      for (const to of [subscriptionId, other]) {
        const delivery = await insertDelivery(pool, status, to)
        if (status === 'InProgress') await insertJob(pool, delivery, jobs[index % 4])
        if (to === subscriptionId) made.unshift({ ...delivery, status, requeued: false })
      }
    }
    const dead = made.filter(({ status }) => status === 'DeadLettered')
    for (const status of ['Pending', 'InProgress', 'Completed'] as const) {
      const { eventId } = dead.at(-1) as Delivery
      const id = await requeue(dead.pop() as Delivery)
      if (status !== 'Pending') await moveTo(id, 'InProgress')
      if (status === 'InProgress') await insertJob(pool, { id, eventId, subscriptionId }, 'Leased')
      if (status === 'Completed') await moveTo(id, 'Completed')
      made.unshift({ id, eventId, subscriptionId, status, requeued: true })
    }
  })

  it.each([1, 2, 3, 7, 20, 42, 43, 200])(
    '[S1, S5] are listed in all statuses, newest first and once each, in pages of %i, requeued ones included',
    async (limit) => {
      const all = await walkPages(list, { subscriptionId, limit })
      expect(all.map(({ id, status }) => [id, status])).toEqual(made.map(({ id, status }) => [id, status]))
      expect(new Set(all.map(({ status }) => status)).size).toBe(5)
      expect(all.filter(({ requeuedFrom }) => requeuedFrom !== null)).toHaveLength(3)
    },
  )

  it.each(deliveryMachine.statuses)('[S1, S5] and one status: %s', async (status) => {
    const found = await walkPages(list, { subscriptionId, status, limit: 2 })
    expect(idsOf(found)).toEqual(idsOf(made.filter((one) => one.status === status)))
  })

  it.each([1, 2, 5, 20])(
    '[S1, S21] are listed completely, however little a page may search: %i',
    async (walkedMax) => {
      const search = (filter: DeliveryFilter) =>
        listDeliveries(database.as('saga_readonly_role'), filter, walkedMax)
      for (const limit of [1, 3, 200]) {
        const all = await walkPages(search, { subscriptionId, limit }, { mayBeEmpty: true })
        expect(idsOf(all)).toEqual(idsOf(made))
        for (const status of deliveryMachine.statuses) {
          const found = await walkPages(search, { subscriptionId, status, limit }, { mayBeEmpty: true })
          expect(idsOf(found)).toEqual(idsOf(made.filter((one) => one.status === status)))
          const ofAll = await walkPages(search, { status, limit }, { mayBeEmpty: true })
          const { rows } = await database.pool.query(
            'SELECT id FROM sagapost.webhook_delivery_sagas WHERE status = $1 AND id <= $2 ORDER BY id DESC',
            [status, ofAll[0]?.id],
          )
          expect(idsOf(ofAll)).toEqual(idsOf(rows))
        }
      }
    },
  )

  it('[S1] and event, a dead letter and what it was requeued as', async () => {
    const requeued = made.filter((one) => one.requeued)
    for (const { eventId } of requeued) {
      const found = await walkPages(list, { subscriptionId, eventId, limit: 1 })
      expect(idsOf(found)).toEqual(idsOf(made.filter((one) => one.eventId === eventId)))
      expect(found).toHaveLength(2)
    }
  })

  it('[S1, E1] and type of event, or error', async () => {
    const ofType = await walkPages(list, { subscriptionId, eventType: 'order.placed', limit: 4 })
    expect(idsOf(ofType)).toEqual(idsOf(made))
    expect((await list({ subscriptionId, eventType: 'order.paid' })).data).toEqual([])
    const failed = await walkPages(list, { subscriptionId, errorCode: 'http_500', limit: 4 })
    const isFailing = ({ status }: { status: DeliveryStatus }) =>
      status === 'PendingRetry' || status === 'DeadLettered'
    expect(idsOf(failed)).toEqual(idsOf(made.filter(isFailing)))
  })

  it('[S1] are empty for a subscription without deliveries', async () => {
    const empty = await insertSubscription(database.pool)
    expect(await list({ subscriptionId: empty })).toEqual({ data: [], nextCursor: null })
  })
})

describe('a delivery of one subscription that was repaired by hand comes once', () => {
  it('[S1] with an active job and a result', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery, 'Failed')
    const trigger = 'TRIGGER job_fits_delivery'
    await database.pool.query(`ALTER TABLE sagapost.webhook_delivery_jobs DISABLE ${trigger}`)
    await insertJob(database.pool, delivery, 'Leased')
    await database.pool.query(`ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS ${trigger}`)
    expect(idsOf((await list({ subscriptionId: delivery.subscriptionId })).data)).toEqual([delivery.id])
  })

  it.each(['Leased', 'Completed'] as const)('[S1] when it is done and its job is %s', async (job) => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery, job)
    await moveTo(delivery.id, 'Completed')
    const { data } = await list({ subscriptionId: delivery.subscriptionId })
    expect(data.map(({ id, status }) => [id, status])).toEqual([[delivery.id, 'Completed']])
  })
})

it('[S1] the deliveries of one subscription are all present in every read while they move', async () => {
  const { pool } = database
  const subscriptionId = await insertSubscription(pool)
  const deliveries: Delivery[] = []
  for (let count = 0; count < 30; count++)
    deliveries.unshift(await insertDelivery(pool, 'Pending', subscriptionId))
  let isMoving = true
  // As the parts do it: what moves a delivery out of one way to it brings it into the next in the same transaction.
  const move = async () => {
    for (const { id, eventId } of deliveries) {
      await pool.query(
        `WITH moved AS (
           UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = ${id} AND event_id = ${eventId})
         INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id)
         VALUES (${id}, ${id}, ${eventId}, ${subscriptionId})`,
      )
      for (const status of ['Leased', 'Completed']) {
        await pool.query(
          `UPDATE sagapost.webhook_delivery_jobs SET status = $2, lease_token = gen_random_uuid(), worker_id = 'w' WHERE id = $1`,
          [id, status],
        )
      }
      await pool.query(
        `WITH applied AS (DELETE FROM sagapost.delivery_result_queue WHERE job_ids = ARRAY[${id}]::bigint[])
         UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed', attempt_count = 1
         WHERE id = ${id} AND event_id = ${eventId}`,
      )
    }
  }
  const look = async () => {
    while (isMoving) expect(idsOf((await list({ subscriptionId })).data)).toEqual(idsOf(deliveries))
  }
  const moved = move().finally(() => {
    isMoving = false
  })
  await Promise.all([moved, look(), look()])
  const { data } = await list({ subscriptionId })
  expect(new Set(data.map(({ status }) => status))).toEqual(new Set(['Completed']))
})
