import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRolePool } from '../../src/database/index.js'
import { makeFirstJobs } from '../../src/orchestrator/make-jobs.js'
import { claim } from '../../src/worker/claim-jobs.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead } from '../support/explain.js'

const DONE = 20_000
const WAITING = 5_000
const BATCH = 10
/** A batch is read, locked, changed and joined with its events and subscriptions; the planner's choice adds a little. */
const ROWS_READ_MAX = BATCH * 20

const database = useDatabase()
/** The window of a part: the partition with the newest events and the one ahead. */
const bounds = [0, 2_000_000]

/** Statistics from a time when nothing was open, as they are on most days, and then a backlog. */
beforeAll(async () => {
  const { pool } = database
  await pool.query(
    `INSERT INTO sagapost.subscriptions (id, event_type, callback_url, active, verified)
     VALUES (1, 'a', 'https://receiver.example/', true, true)`,
  )
  const insert = async (from: number, to: number, [saga, job]: [string, string | null]) => {
    await pool.query(
      `INSERT INTO sagapost.events (id, event_type, payload) SELECT id, 'a', '{}' FROM generate_series($1::int, $2::int) AS id`,
      [from, to],
    )
    await pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id, status)
       SELECT id, id, 1, $3::sagapost.delivery_status FROM generate_series($1::int, $2::int) AS id`,
      [from, to, saga],
    )
    if (job === null) return
    await pool.query(
      `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, status, applied_at)
       SELECT id, id, 1, $3::sagapost.job_status, CASE WHEN $3 = 'Completed' THEN sagapost.now() END
       FROM generate_series($1::int, $2::int) AS id`,
      [from, to, job],
    )
  }
  const guards = async (state: 'DISABLE' | 'ENABLE ALWAYS', ...triggers: [string, string][]) => {
    for (const [table, trigger] of triggers) {
      await pool.query(`ALTER TABLE sagapost.${table} ${state} TRIGGER ${trigger}`)
    }
  }
  const beginnings: [string, string][] = [
    ['webhook_delivery_sagas', 'saga_begins_pending'],
    ['webhook_delivery_jobs', 'job_begins_pending'],
  ]
  await guards('DISABLE', ...beginnings)
  await insert(1, DONE, ['Completed', 'Completed'])
  await pool.query('VACUUM (ANALYZE)')
  await insert(DONE + 1, DONE + WAITING, ['InProgress', 'Pending'])
  await insert(DONE + WAITING + 1, DONE + 2 * WAITING, ['Pending', null])
  await guards('ENABLE ALWAYS', ...beginnings)
})

describe('what a batch costs when much waits that the statistics do not know of', () => {
  const open: ReturnType<typeof createRolePool>[] = []
  const poolOf = (role: 'job_worker' | 'saga_orchestrator') => {
    const pool = createRolePool({ databaseUrl: database.url, role, connectionsMax: 1, pinnedPlans: true })
    open.push(pool)
    return pool
  }
  afterAll(() => Promise.all(open.map((pool) => pool.end())))

  it('[J9] a claim reads its batch and not the queue', async () => {
    const values = [...bounds, BATCH, 60_000, 'worker', [], '-infinity', null]
    expect(await countRowsRead(poolOf('job_worker'), claim, values)).toBeLessThanOrEqual(ROWS_READ_MAX)
  })

  it('[S21] making first jobs reads its batch and not the queue', async () => {
    const values = [...bounds, BATCH]
    expect(await countRowsRead(poolOf('saga_orchestrator'), makeFirstJobs, values)).toBeLessThanOrEqual(
      ROWS_READ_MAX,
    )
  })
})
