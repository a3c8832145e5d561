import { expect, it } from 'vitest'
import { createResultApplier } from '../../../src/delivery/orchestrator/apply-past-refused.js'
import { useDatabase } from '../../support/database.js'
import { type Delivery, insertDelivery, insertJob } from '../../support/fixtures.js'
import { defaultRetryPolicy } from '../../support/retry-policy.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()

const statusOf = async ({ id }: Delivery) => {
  const { rows } = await database.pool.query(
    'SELECT status FROM sagapost.webhook_delivery_sagas WHERE id = $1',
    [id],
  )
  return rows[0].status
}

it('[S17, D3] a result that cannot be applied delays only its own row, is retried, and delays no other', async () => {
  const finished = async (status: 'Completed' | 'Failed') => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery, status)
    return delivery
  }
  const before = await finished('Completed')
  const bad = await finished('Failed')
  const after = await finished('Completed')
  const refused: [string, string][] = []
  const create = () =>
    createResultApplier(database.as('saga_orchestrator'), {
      batchMax: 100,
      policy: { ...defaultRetryPolicy, limit: 1 },
      window: wholeWindow,
      onRefused: (queueId, error) => refused.push([queueId, error.message]),
    })
  await database.pool.query(
    `ALTER TABLE sagapost.dead_letters ADD CONSTRAINT out_of_order CHECK (saga_id <> ${bad.id})`,
  )
  const applier = create()
  const { results } = await applier.apply()
  expect(results.map(({ deliveryId }) => deliveryId)).toEqual([before.id, after.id])
  expect(refused).toEqual([[expect.any(String), expect.stringContaining('out_of_order')]])

  // Left alone for the time being, while others come and go.
  const late = await finished('Completed')
  expect((await applier.apply()).results.map(({ deliveryId }) => deliveryId)).toEqual([late.id])
  expect(refused).toHaveLength(1)
  expect(await statusOf(bad)).toBe('InProgress')

  await database.pool.query('ALTER TABLE sagapost.dead_letters DROP CONSTRAINT out_of_order')
  expect((await create().apply()).results).toMatchObject([{ deliveryId: bad.id, status: 'DeadLettered' }])
})

it.each([
  `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) VALUES ('a', '{}')`,
  `INSERT INTO sagapost.event_routing_queue (event_type, event_ids, correlation_ids) VALUES ('a', '{1,2}', '{x}')`,
  `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id) VALUES ('{}', '{}', 1, 1)`,
  `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id) VALUES ('{1}', '{1,2}', 1, 1)`,
])('[S4, R1] a row that would stop its consumer is refused: %s', async (insert) => {
  await expect(database.pool.query(insert)).rejects.toThrow('_entries')
})
