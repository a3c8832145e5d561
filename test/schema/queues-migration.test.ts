import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { migrate, migrationsFolder } from '../../src/database/index.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { applyResults } from '../../src/orchestrator/index.js'
import { createSubscriptionCache, routeEvents } from '../../src/router/index.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertEvent, insertJob } from '../support/fixtures.js'
import { defaultRetryPolicy } from '../support/retry-policy.js'
import { wholeWindow } from '../support/whole-window.js'

const database = useDatabase({ migrated: false })
const databaseUrl = database.url

/** The schema as it was before 0026. */
async function migrateBefore(): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), 'sagapost-migrations-'))
  try {
    await cp(migrationsFolder, copy, { recursive: true })
    const later = (await readdir(copy)).filter((file) => file >= '0026')
    for (const file of later) await rm(join(copy, file))
    await migrate({ databaseUrl, folder: pathToFileURL(`${copy}/`) })
  } finally {
    await rm(copy, { recursive: true })
  }
}

it('[S4, R1, G11] what waited in the queues of the version before waits in the new ones, and what is under way as well', async () => {
  await migrateBefore()
  const { pool } = database
  // Not by the fixture, which calls what this version does not have yet.
  const { rows: subscribed } = await pool.query<{ id: string }>(
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
     VALUES ('order.placed', 'https://receiver.example/hooks', true, true) RETURNING id`,
  )
  const to = subscribed[0]?.id
  const counted = await insertDelivery(pool, 'InProgress', to)
  await insertJob(pool, counted, 'Completed')
  await pool.query('UPDATE sagapost.webhook_delivery_jobs SET applied_at = now()')
  await pool.query(`UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed', attempt_count = 1`)
  const reported = await insertDelivery(pool, 'InProgress', to)
  // By hand, without the time.
  await insertJob(pool, reported, 'Completed')
  const sending = await insertDelivery(pool, 'InProgress', to)
  const job = await insertJob(pool, sending, 'Leased')
  // Of the deliveries' own events nothing is left to route.
  await pool.query('DELETE FROM sagapost.event_routing_queue')
  const events = [
    await insertEvent(pool),
    await insertEvent(pool),
    await insertEvent(pool, { type: 'other' }),
  ]

  const worker = await pool.connect()
  const publisher = await pool.connect()
  await worker.query(
    `BEGIN; UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed', response_status = 200 WHERE id = ${job}`,
  )
  // As an INSERT has it before its trigger runs.
  await publisher.query('BEGIN; LOCK TABLE sagapost.events IN ROW EXCLUSIVE MODE')
  const migrated = migrate({ databaseUrl })
  const waitsFor = async () => {
    const locks = 'SELECT relation::regclass::text AS name FROM pg_locks WHERE NOT granted'
    return (await pool.query(locks)).rows.map(({ name }) => name)
  }
  await expect.poll(waitsFor).toEqual(['events'])
  const { rows } = await publisher.query(
    `SELECT sagapost.publish('other', '{}', correlation_id => 'c-1') AS id`,
  )
  await publisher.query(`SELECT sagapost.publish('other', '{}')`)
  await publisher.query('COMMIT')
  await expect.poll(waitsFor).toEqual(['webhook_delivery_jobs'])
  await worker.query('COMMIT')
  publisher.release()
  worker.release()
  await migrated

  const queued = await pool.query(
    'SELECT event_id, event_type, correlation_id FROM sagapost.unrouted_events ORDER BY event_id',
  )
  expect(queued.rows).toMatchObject([
    ...events.slice(0, 2).map((id) => ({ event_id: id, event_type: 'order.placed' })),
    { event_id: events[2], event_type: 'other', correlation_id: null },
    { event_id: rows[0].id, event_type: 'other', correlation_id: 'c-1' },
    { event_type: 'other', correlation_id: null },
  ])
  const results = await pool.query('SELECT saga_id FROM sagapost.unapplied_results ORDER BY saga_id')
  expect(results.rows).toEqual([reported, sending].map(({ id }) => ({ saga_id: id })))

  const routed = await routeEvents(database.as('router_worker'), createSubscriptionCache(), 100)
  expect(routed.events).toHaveLength(5)
  const options = { batchMax: 100, policy: defaultRetryPolicy, window: wholeWindow }
  const applied = await applyResults(database.as('saga_orchestrator'), options)
  expect(applied.results.map(({ sagaId, status }) => [sagaId, status])).toEqual(
    [reported, sending].map(({ id }) => [id, 'Completed']),
  )
  expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])
})
