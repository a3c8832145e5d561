import type pg from 'pg'
import { beforeAll, expect, it } from 'vitest'
import type { WorkWindow } from '../../../src/database/index.js'
import { endStopped } from '../../../src/delivery/orchestrator/end-stopped.js'
import { makeJobs } from '../../../src/delivery/orchestrator/make-jobs.js'
import { forgetSwitches } from '../../../src/delivery/worker/read-switches.js'
import { PAYLOAD_BYTES_READ_MAX } from '../../../src/model/index.js'
import { deleteSubscription } from '../../../src/subscriptions/index.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertEvent, insertJob, insertSubscription } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { delivered, useWorker } from './use-worker.js'

const database = useDatabase()
let window: WorkWindow
const start = useWorker(() => ({ pool: database.as('job_worker'), window: () => window }))
beforeAll(async () => {
  await database.pool.query('SELECT sagapost.limit_payloads($1)', [PAYLOAD_BYTES_READ_MAX])
  window = await readWorkWindow(database.as('job_worker'))
})

const jobOf = async (id: string) => {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.webhook_delivery_jobs WHERE id = $1', [
    id,
  ])
  return rows[0]
}

/** An endpoint that has answered before. */
async function answeringSubscription(): Promise<string> {
  const id = await insertSubscription(database.pool)
  await insertDelivery(database.pool, 'Completed', id)
  return id
}

/** A job whose payload is as large as any part reads; four of them are all that a worker holds at once. */
async function insertLargeJob(subscriptionId: string): Promise<string> {
  const eventId = await insertEvent(database.pool, {
    payload: JSON.stringify('x'.repeat(PAYLOAD_BYTES_READ_MAX - 2)),
  })
  const { rows } = await database.pool.query(
    'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2) RETURNING id',
    [eventId, subscriptionId],
  )
  const id = rows[0].id
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = $1`,
    [id],
  )
  return insertJob(database.pool, { id, eventId, subscriptionId })
}

/** The worker's pool, with `onQuery` before each statement that it sends by itself. */
function watched(onQuery: (text: string) => void): pg.Pool {
  const pool = database.as('job_worker')
  return new Proxy(pool, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'query') return typeof value === 'function' ? value.bind(target) : value
      return async (text: string, values: unknown[]) => {
        onQuery(text)
        return target.query(text, values)
      }
    },
  })
}

it('[J7, S17] a large payload that waits for its turn is not sent once its subscription is deleted', async () => {
  const [other, deleted] = [await answeringSubscription(), await answeringSubscription()]
  for (let n = 0; n < 4; n++) await insertLargeJob(other)
  let looks = 0
  const pool = watched((text) => {
    if (text.includes('sagapost.subscription_switches') && text.includes('SELECT')) looks += 1
  })
  const { sent, wakeups } = start({ pool })
  await expect.poll(() => sent.length).toBe(4)
  const waiting = await insertLargeJob(deleted)
  wakeups.wake('claims')
  await expect.poll(async () => (await jobOf(waiting)).status).toBe('Leased')
  await deleteSubscription(database.as('subscription_admin'), deleted)
  // A look that begins after the one that follows the deletion: what that one found is known.
  const before = looks
  await expect
    .poll(() => {
      wakeups.wake('switches')
      return looks - before
    })
    .toBeGreaterThan(2)
  for (const { answer } of sent) answer(delivered)
  await expect.poll(async () => (await jobOf(waiting)).error_code).toBe('subscription_deleted')
  expect(sent).toHaveLength(4)
})

it('[J8] a job whose payload could not be read is given back, and uses up no lease', async () => {
  const job = await insertLargeJob(await answeringSubscription())
  let failures = 0
  const pool = watched((text) => {
    if (failures > 0 || !/FROM sagapost.events WHERE .* OFFSET 0/.test(text)) return
    failures += 1
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
  })
  const { sent } = start({ pool })
  await expect.poll(() => [failures, sent.length]).toEqual([1, 1])
  expect((await jobOf(job)).lease_resets).toBe(0)
  sent[0]?.answer(delivered)
})

it('[U5] a subscription that is active again while its jobs are being put aside is claimed again', async () => {
  const subscriptionId = await answeringSubscription()
  const { rows: events } = await database.pool.query(
    `INSERT INTO sagapost.events (event_type, payload)
     SELECT 'order.placed', '{}' FROM generate_series(1, 2000) RETURNING id`,
  )
  await database.pool.query(
    'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT unnest($1::bigint[]), $2',
    [events.map(({ id }) => id), subscriptionId],
  )
  await makeJobs(database.as('saga_orchestrator'), { range: window.fresh, batchMax: 5_000, limit: 5 })
  const turn = (active: boolean) =>
    database.pool.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [
      subscriptionId,
      active,
    ])
  await turn(false)
  const { sent, wakeups } = start({ respond: () => delivered })
  const held = async () => {
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS held FROM sagapost.webhook_delivery_jobs
       WHERE subscription_id = $1 AND status = 'Pending' AND lease_until = sagapost.held_until($1)`,
      [subscriptionId],
    )
    return rows[0].held
  }
  await expect.poll(held, { interval: 1 }).toBeGreaterThanOrEqual(500)
  await turn(true)
  await expect
    .poll(() => {
      wakeups.wake('switches')
      return sent.length
    })
    .toBe(2_000)
})

it('[U5] a deactivation is not forgotten while a job is held that is to continue', async () => {
  const delivery = await insertDelivery(database.pool, 'InProgress')
  const id = await insertJob(database.pool, delivery)
  for (const change of [
    `status = 'Leased', lease_token = gen_random_uuid()`,
    `status = 'Pending', lease_until = sagapost.held_until(subscription_id)`,
  ]) {
    await database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET ${change} WHERE id = $1`, [id])
  }
  await database.pool.query(
    `INSERT INTO sagapost.subscription_switches VALUES ($1, sagapost.now() - interval '5 minutes')
     ON CONFLICT (subscription_id) DO UPDATE SET switched_at = excluded.switched_at`,
    [delivery.subscriptionId],
  )
  await forgetSwitches(database.as('job_worker'), window, [delivery.subscriptionId])
  const { rowCount } = await database.pool.query(
    'SELECT FROM sagapost.subscription_switches WHERE subscription_id = $1',
    [delivery.subscriptionId],
  )
  expect(rowCount).toBe(1)
})

it('[U5] a deactivation is not forgotten while a job is held in a range that the window does not have yet', async () => {
  const delivery = await insertDelivery(database.pool, 'InProgress')
  const id = await insertJob(database.pool, delivery)
  for (const change of [
    `status = 'Leased', lease_token = gen_random_uuid()`,
    `status = 'Pending', lease_until = sagapost.held_until(subscription_id)`,
  ]) {
    await database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET ${change} WHERE id = $1`, [id])
  }
  await database.pool.query(
    `INSERT INTO sagapost.subscription_switches VALUES ($1, sagapost.now() - interval '5 minutes')
     ON CONFLICT (subscription_id) DO UPDATE SET switched_at = excluded.switched_at`,
    [delivery.subscriptionId],
  )
  const left = { fresh: { from: '1000000', to: '2000000' }, older: [], borders: ['0', '1000000', '2000000'] }
  await forgetSwitches(database.as('job_worker'), left, [delivery.subscriptionId])
  const { rowCount } = await database.pool.query(
    'SELECT FROM sagapost.subscription_switches WHERE subscription_id = $1',
    [delivery.subscriptionId],
  )
  expect(rowCount).toBe(1)
})

it('[S12, S17, R1] a stopped delivery whose event is missing delays no other', async () => {
  const [lost, other, third] = [
    await insertDelivery(database.pool, 'PendingRetry'),
    await insertDelivery(database.pool, 'PendingRetry'),
    await insertDelivery(database.pool, 'PendingRetry'),
  ]
  for (const { subscriptionId } of [lost, third]) {
    await deleteSubscription(database.as('subscription_admin'), subscriptionId)
  }
  await database.pool.query('ALTER TABLE sagapost.events DISABLE TRIGGER USER')
  await database.pool.query('DELETE FROM sagapost.events WHERE id = $1', [lost.eventId])
  const orchestrator = database.as('saga_orchestrator')
  await makeJobsUntilMoved(orchestrator, other, 5)
  await endStopped(orchestrator, { range: window.fresh, batchMax: 100 })
  const { rows } = await database.pool.query(
    'SELECT status FROM sagapost.webhook_delivery_sagas WHERE id = ANY ($1) ORDER BY id',
    [[lost.id, other.id, third.id]],
  )
  expect(rows.map(({ status }) => status)).toEqual(['PendingRetry', 'InProgress', 'DeadLettered'])
})

/**
 * More than one round may be needed: PostgreSQL reports a refused statement a moment before it lets go of its locks, and
 * the next statement skips rows that are locked.
 */
async function makeJobsUntilMoved(pool: pg.Pool, { id }: { id: string }, limit: number): Promise<void> {
  const isMoved = async () => {
    await makeJobs(pool, { range: window.fresh, batchMax: 100, limit })
    const { rows } = await database.pool.query(
      `SELECT status <> 'PendingRetry' AS moved FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
      [id],
    )
    return rows[0].moved
  }
  await expect.poll(isMoved).toBe(true)
}

it.each([5, 1])(
  '[S10, S12, R1] a delivery that waits although its job may still be sent delays no other, with a limit of %s',
  async (limit) => {
    const stuck = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, stuck)
    const orchestrator = database.as('saga_orchestrator')
    await orchestrator.query(
      `UPDATE sagapost.webhook_delivery_sagas
       SET status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500' WHERE id = $1`,
      [stuck.id],
    )
    const other = await insertDelivery(database.pool, 'PendingRetry')
    await makeJobsUntilMoved(orchestrator, other, limit)
    const ended = await insertDelivery(database.pool, 'PendingRetry')
    for (const { subscriptionId } of [stuck, ended]) {
      await deleteSubscription(database.as('subscription_admin'), subscriptionId)
    }
    await endStopped(orchestrator, { range: window.fresh, batchMax: 100 })
    const { rows } = await database.pool.query(
      'SELECT status FROM sagapost.webhook_delivery_sagas WHERE id = ANY ($1) ORDER BY id',
      [[stuck.id, other.id, ended.id]],
    )
    const moved = limit === 1 ? 'DeadLettered' : 'InProgress'
    expect(rows.map(({ status }) => status)).toEqual(['PendingRetry', moved, 'DeadLettered'])
  },
)
