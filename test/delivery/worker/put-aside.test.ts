import { expect, it } from 'vitest'
import { putAside } from '../../../src/delivery/worker/put-aside.js'
import type { Stop } from '../../../src/delivery/worker/stop.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertJob } from '../../support/fixtures.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()

const rowOf = async (id: string) => {
  const { rows } = await database.pool.query(
    'SELECT status, lease_token, error_code, xmin::text FROM sagapost.webhook_delivery_jobs WHERE id = $1',
    [id],
  )
  return rows[0]
}

it.each<[Stop | null, string]>([
  ['held', 'Pending'],
  ['cancelled', 'Failed'],
  ['subscription_deleted', 'Failed'],
  [null, 'Pending'],
])('[J5, J12] a job that is put aside twice is put aside once: %s', async (stop, status) => {
  const delivery = await insertDelivery(database.pool, 'InProgress')
  const id = await insertJob(database.pool, delivery, 'Leased')
  const { lease_token: leaseToken } = await rowOf(id)
  const { id: deliveryId, eventId, subscriptionId } = delivery
  const again = () =>
    putAside(
      database.as('job_worker'),
      [{ id, deliveryId, eventId, subscriptionId, leaseToken, stop }],
      wholeWindow,
    )
  await again()
  const first = await rowOf(id)
  expect(first.status).toBe(status)
  await again()
  expect(await rowOf(id)).toEqual(first)
  if (status === 'Failed') return
  // The answer was lost, and another worker has claimed it since.
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs
     SET status = 'Leased', lease_token = gen_random_uuid(), worker_id = 'another' WHERE id = $1`,
    [id],
  )
  const claimed = await rowOf(id)
  await again()
  expect(await rowOf(id)).toEqual(claimed)
})
