import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { EventRange } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { type Delivery, insertDelivery, insertJob } from '../support/fixtures.js'
import { readWorkWindow } from '../support/read-work-window.js'

const database = useDatabase()
const WIDTH = 1000
const window = async () => {
  const { fresh, older } = await readWorkWindow(database.as('saga_orchestrator'))
  return { fresh: boundsOf(fresh), older: older.map(boundsOf) }
}
const boundsOf = ({ from, to }: EventRange) => ({ from, to })
const plannedOf = async () => (await readWorkWindow(database.as('saga_orchestrator'))).fresh.planned
const setNextId = (id: number) =>
  database.pool.query(`SELECT setval('sagapost.events_id_seq', $1, false)`, [id])

const publishAt = async (ids: number[]) => {
  for (const id of ids) {
    await setNextId(id)
    await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
  }
}

describe('the work window', () => {
  it('[S21] is the partition of the newest event, and its neighbour near the border', async () => {
    expect(await window()).toEqual({ fresh: { from: '0', to: '1000000' }, older: [] })
    await publishAt([1_000_000, 2_000_000])
    const freshAt = async (id: number) => {
      await setNextId(id)
      return (await window()).fresh
    }
    expect(await freshAt(899_999)).toEqual({ from: '0', to: '1000000' })
    expect(await freshAt(900_000)).toEqual({ from: '0', to: '2000000' })
    expect(await freshAt(1_000_000)).toEqual({ from: '0', to: '2000000' })
    expect(await freshAt(1_099_999)).toEqual({ from: '0', to: '2000000' })
    expect(await freshAt(1_100_000)).toEqual({ from: '1000000', to: '2000000' })
    expect(await plannedOf()).toEqual({ from: '1000000', to: '3000000' })
    expect(await freshAt(1_899_999)).toEqual({ from: '1000000', to: '2000000' })
    expect(await freshAt(1_900_000)).toEqual({ from: '1000000', to: '3000000' })
    expect(await plannedOf()).toEqual({ from: '1000000', to: '3000000' })
  })

  it('[S21] includes the previous partition as long as it has open work', async () => {
    await publishAt([3_500_000, 4_500_000])
    await setNextId(3_500_001)
    const waiting = await insertDelivery(database.pool, 'PendingRetry')
    await setNextId(4_500_000)
    expect(await window()).toEqual({ fresh: { from: '3000000', to: '5000000' }, older: [] })
    await setNextId(1_500_001)
    const older = await insertDelivery(database.pool, 'Pending')
    await setNextId(4_500_000)
    expect(await window()).toEqual({
      fresh: { from: '3000000', to: '5000000' },
      older: [{ from: '1000000', to: '2000000' }],
    })
    await finish(waiting)
    expect(await window()).toEqual({
      fresh: { from: '4000000', to: '5000000' },
      older: [{ from: '1000000', to: '2000000' }],
    })
    await finish(older)
    expect(await window()).toEqual({ fresh: { from: '4000000', to: '5000000' }, older: [] })
  })

  it('[S21] reaches to both sides where partitions are so small that the next is always near', async () => {
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    await publishAt([6_999_000, 7_000_500, 7_001_500, 7_002_500, 7_003_500])
    expect((await window()).fresh).toEqual({ from: '7002000', to: '7005000' })
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

  it.each(kinds)('[S21, R1] is found until it is done: %s', async (_what, insert) => {
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    await publishAt([6_999_000, 7_000_500, 7_001_500, 7_002_500, 7_003_500])
    await setNextId(nextOldId++)
    const waiting = await insert(database.pool)
    await setNextId(7_003_600)
    expect((await window()).older).toEqual([{ from: '7000000', to: '7001000' }])
    await finish(waiting)
    expect((await window()).older).toEqual([])
  })

  let nextOldId = 7_000_100
})

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
