import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { readWorkWindow } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { type Delivery, insertDelivery, insertJob } from '../support/fixtures.js'

const database = useDatabase()
const WIDTH = 1000
const window = () => readWorkWindow(database.as('saga_orchestrator'))
const setNextId = (id: number) =>
  database.pool.query(`SELECT setval('sagapost.events_id_seq', $1, false)`, [id])

describe('the work window', () => {
  it('[S21] is the partition of the newest event, and its neighbour near the border', async () => {
    expect(await window()).toEqual({ fresh: { from: '0', to: '1000000' }, older: null })
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    await setNextId(2_999_000)
    for (const next of [3_000_500, 3_001_500, 3_002_500, 3_003_500]) {
      await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
      await setNextId(next)
    }
    await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
    const freshAt = async (id: number) => {
      await setNextId(id)
      return (await window()).fresh
    }
    expect(await freshAt(3_003_000)).toEqual({ from: '3002000', to: '3004000' })
    expect(await freshAt(3_003_099)).toEqual({ from: '3002000', to: '3004000' })
    expect(await freshAt(3_003_100)).toEqual({ from: '3003000', to: '3004000' })
    expect(await freshAt(3_003_899)).toEqual({ from: '3003000', to: '3004000' })
    expect(await freshAt(3_003_900)).toEqual({ from: '3003000', to: '3005000' })
    expect(await freshAt(3_003_999)).toEqual({ from: '3003000', to: '3005000' })
  })
})

describe('open work that was left in older partitions', () => {
  const kinds: [string, (client: pg.Pool) => Promise<Delivery>][] = [
    ['a delivery without a job', (client) => insertDelivery(client, 'Pending')],
    ['a delivery that waits for its retry', (client) => insertDelivery(client, 'PendingRetry')],
    ...(['Pending', 'Leased'] as const).map((status): [string, (client: pg.Pool) => Promise<Delivery>] => [
      `a job that is ${status}`,
      async (client) => {
        const delivery = await insertDelivery(client, 'InProgress')
        await insertJob(client, delivery, status)
        return delivery
      },
    ]),
  ]

  it.each(kinds)('[S21, R1] is found from the oldest on, until it is done: %s', async (_what, insert) => {
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    for (const next of [2_999_000, 3_000_500, 3_001_500, 3_002_500, 3_003_500]) {
      await setNextId(next)
      await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
    }
    await setNextId(nextOldId++)
    const waiting = await insert(database.pool)
    await setNextId(3_003_600)
    expect((await window()).older).toEqual({ from: '3000000', to: '3003000' })
    await finish(waiting)
    expect((await window()).older).toBeNull()
  })

  let nextOldId = 3_000_100

  async function finish({ id }: Delivery): Promise<void> {
    for (const statement of [
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased' WHERE status = 'Pending' AND saga_id = $1`,
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE status = 'Leased' AND saga_id = $1`,
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE status <> 'InProgress' AND id = $1`,
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed' WHERE id = $1`,
    ]) {
      await database.pool.query(statement, [id])
    }
  }
})
