import { beforeAll, expect, it } from 'vitest'
import { createRolePool } from '../../../src/database/index.js'
import { claim } from '../../../src/delivery/worker/claim-jobs.js'
import { useDatabase } from '../../support/database.js'
import { countRowsRead } from '../../support/explain.js'

const DONE = 20_000
const WAITING = 5_000
const TOKEN = '00000000-0000-4000-8000-000000000000'
const BATCH = 10
/** A batch is read, locked, changed, and joined with its events and subscriptions. */
const ROWS_READ_MAX = BATCH * 20

const database = useDatabase()

/** Statistics from a time when nothing was open, as they are on most days, and then a backlog. */
beforeAll(async () => {
  const { pool } = database
  const insertJobs = (from: number, to: number, status: 'Pending' | 'Completed') =>
    pool.query(
      `WITH event AS (
         INSERT INTO sagapost.events (id, event_type, payload)
         SELECT id, 'a', '{}' FROM generate_series($1::int, $2::int) AS id RETURNING id
       )
       INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, status)
       SELECT id, id, 1, $3::sagapost.job_status FROM event`,
      [from, to, status],
    )
  await pool.query(
    `INSERT INTO sagapost.subscriptions (id, event_type, callback_url, active, verified)
     VALUES (1, 'a', 'https://receiver.example/', true, true)`,
  )
  await pool.query('ALTER TABLE sagapost.webhook_delivery_jobs DISABLE TRIGGER USER')
  await insertJobs(1, DONE, 'Completed')
  await pool.query('VACUUM (ANALYZE)')
  await insertJobs(DONE + 1, DONE + WAITING, 'Pending')
})

it('[J9] a claim reads only its batch, however large the backlog that the statistics miss', async () => {
  const role = 'job_worker'
  const pool = createRolePool({ databaseUrl: database.url, role, connectionsMax: 1, pinnedPlans: true })
  // The window of a part: the partition with the newest events and the one ahead.
  const values = [0, 2_000_000, BATCH, 60_000, 'worker', [], '-infinity', null, TOKEN]
  const read = await countRowsRead(pool, claim, values).finally(() => pool.end())
  expect(read).toBeLessThanOrEqual(ROWS_READ_MAX)
})
