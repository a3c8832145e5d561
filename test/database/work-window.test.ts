import { describe, expect, it } from 'vitest'
import { readWorkWindow } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery } from '../support/fixtures.js'

const database = useDatabase()
const WIDTH = 1000
const window = () => readWorkWindow(database.as('saga_orchestrator'))
const setNextId = (id: number) =>
  database.pool.query(`SELECT setval('sagapost.events_id_seq', $1, false)`, [id])

describe('the work window', () => {
  it('[S21] reaches from the partition before the newest event to the one behind it', async () => {
    expect(await window()).toEqual({ fresh: { from: '0', to: '2000000' }, older: null })
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    await setNextId(2_999_000)
    for (const next of [3_000_500, 3_001_500, 3_002_500, 3_003_500]) {
      await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
      await setNextId(next)
    }
    await database.as('schema_maintainer').query('SELECT sagapost.ensure_partitions()')
    expect((await window()).fresh).toEqual({ from: '3002000', to: '3005000' })
  })

  it('[S21, R1] finds open work that was left in older partitions, from the oldest on, until it is done', async () => {
    await setNextId(3_000_100)
    const waiting = await insertDelivery(database.pool, 'PendingRetry')
    await setNextId(3_003_600)
    expect((await window()).older).toEqual({ from: '3000000', to: '3002000' })
    for (const status of ['InProgress', 'Completed']) {
      await database.pool.query('UPDATE sagapost.webhook_delivery_sagas SET status = $2 WHERE id = $1', [
        waiting.id,
        status,
      ])
    }
    expect((await window()).older).toBeNull()
  })
})
