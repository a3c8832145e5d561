import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { WorkWindow } from '../../../src/database/index.js'
import { getDeadLetter, getEvent } from '../../../src/delivery/index.js'
import { claimJobs } from '../../../src/delivery/worker/claim-jobs.js'
import { createLargePayloads } from '../../../src/delivery/worker/large-payloads.js'
import { PAYLOAD_BYTES_READ_MAX } from '../../../src/model/index.js'
import { useDatabase } from '../../support/database.js'
import { insertJob, insertSubscription } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { wholeWindow } from '../../support/whole-window.js'
import { delivered, useWorker } from './use-worker.js'

const MIB = 1024 * 1024
const database = useDatabase()
let window: WorkWindow
const start = useWorker(() => ({ pool: database.as('job_worker'), window: () => window }))

beforeAll(async () => {
  await database.pool.query('SELECT sagapost.limit_payloads($1)', [PAYLOAD_BYTES_READ_MAX])
  window = await readWorkWindow(database.as('job_worker'))
})

/** Whatever other tests have left is finished. */
beforeEach(async () => {
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased' WHERE status = 'Pending'`,
  )
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE status = 'Leased'`,
  )
})

/** A JSON string of the given size in bytes. */
async function newEvent(bytes: number): Promise<string> {
  const { rows } = await database.pool.query(
    `INSERT INTO sagapost.events (event_type, payload) VALUES ('order.placed', to_json(repeat('x', $1 - 2))) RETURNING id`,
    [bytes],
  )
  return rows[0].id
}

/** As it was stored before there was a limit. */
async function newEventFromBefore(bytes: number): Promise<string> {
  const { rows } = await database.pool.query(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE conname = 'events_payload_size' AND conrelid = 'sagapost.events'::regclass`,
  )
  await database.pool.query('ALTER TABLE sagapost.events DROP CONSTRAINT events_payload_size')
  const id = await newEvent(bytes)
  await database.pool.query(
    `ALTER TABLE sagapost.events ADD CONSTRAINT events_payload_size ${rows[0].definition} NOT VALID`,
  )
  return id
}

interface Job {
  id: string
  deliveryId: string
  eventId: string
  subscriptionId: string
}

async function newJob(eventId: string, subscriptionId: string): Promise<Job> {
  const { rows } = await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2) RETURNING id`,
    [eventId, subscriptionId],
  )
  const deliveryId = rows[0].id
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = $1`,
    [deliveryId],
  )
  return {
    id: await insertJob(database.pool, { id: deliveryId, eventId, subscriptionId }),
    deliveryId,
    eventId,
    subscriptionId,
  }
}

async function row({ id }: Job) {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.webhook_delivery_jobs WHERE id = $1', [
    id,
  ])
  return rows[0]
}

/** A worker that is answered by the endpoint once, so that half of its slots are for it. */
async function startProven() {
  const subscriptionId = await insertSubscription(database.pool)
  const first = await newJob(await newEvent(10), subscriptionId)
  const started = start()
  await expect.poll(() => started.sent.length).toBe(1)
  started.sent[0]?.answer(delivered)
  await expect.poll(async () => (await row(first)).status).toBe('Completed')
  started.sent.length = 0
  return { ...started, subscriptionId }
}

describe('a large payload', () => {
  it('[J3] is not read with the claim, and is sent byte for byte', async () => {
    const job = await newJob(await newEvent(MIB), await insertSubscription(database.pool))
    const { sent } = start({ respond: () => delivered })
    await expect.poll(async () => (await row(job)).status).toBe('Completed')
    const body = Buffer.from(sent[0]?.request.body ?? '')
    expect(body.equals(Buffer.from(`"${'x'.repeat(MIB - 2)}"`))).toBe(true)
  })

  it('[J4] is left out of the claim, which takes small ones along', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    await newJob(await newEvent(2_000), subscriptionId)
    await newJob(await newEvent(PAYLOAD_BYTES_READ_MAX), subscriptionId)
    const { jobs } = await claimJobs(database.as('job_worker'), {
      range: window.fresh,
      batchMax: 10,
      leaseMs: 60_000,
      workerId: 'worker-a',
      except: [],
    })
    expect(jobs.map(({ payload }) => payload?.length ?? null)).toEqual([2_000, null])
  })

  it('[J4] waits until those before it are sent: a worker holds at most 80 MiB of them', async () => {
    const { sent, subscriptionId, wakeups } = await startProven()
    const jobs: Job[] = []
    for (let n = 0; n < 7; n++) {
      jobs.push(await newJob(await newEvent(PAYLOAD_BYTES_READ_MAX), subscriptionId))
    }
    const small = await newJob(await newEvent(10), await insertSubscription(database.pool))
    wakeups.wake('claims')
    // Four of 16 MiB fill the 64 MiB, and the small one passes them all.
    await expect.poll(() => sent.length).toBe(5)
    await expect.poll(() => sent.some(({ eventId }) => eventId === small.eventId)).toBe(true)
    for (let answered = 0; answered < jobs.length + 1; answered++) {
      await expect.poll(() => sent.length).toBeGreaterThan(answered)
      const open = sent.slice(answered).reduce((sum, { request }) => sum + request.body.length, 0)
      expect(open).toBeLessThanOrEqual(80 * MIB)
      sent[answered]?.answer(delivered)
    }
    for (const job of [...jobs, small]) {
      await expect.poll(async () => (await row(job)).status).toBe('Completed')
    }
  })

  it('[J4] is not read while those before it fill the memory reserved for them', async () => {
    const pool = database.as('job_worker')
    const reads: unknown[] = []
    const counting = {
      query: (sql: string, values: unknown[]) => {
        reads.push(values[2])
        return pool.query(sql, values)
      },
    } as unknown as typeof pool
    const payloads = createLargePayloads(counting, wholeWindow, MIB)
    const ids = [await newEvent(MIB), await newEvent(MIB)] as [string, string]
    const begun: string[] = []
    let release = () => {}
    const first = payloads.with(ids[0], async () => {
      begun.push('first')
      await new Promise<void>((resolve) => {
        release = resolve
      })
    })
    const second = payloads.with(ids[1], async (payload) => payload?.length)
    await expect.poll(() => begun).toEqual(['first'])
    // Whatever would have been asked for has been by the time that this is answered.
    await pool.query('SELECT 1')
    expect(reads).toEqual([ids[0]])
    release()
    await first
    expect(await second).toBe(MIB)
    expect(reads).toEqual(ids)
  })

  it('[J7] that waits for its turn when the worker stops is given back', async () => {
    const { sent, worker, subscriptionId, wakeups } = await startProven()
    const jobs: Job[] = []
    for (let n = 0; n < 5; n++) {
      jobs.push(await newJob(await newEvent(PAYLOAD_BYTES_READ_MAX), subscriptionId))
    }
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(4)
    const stopped = worker.stop()
    for (const { answer } of sent) answer(delivered)
    await stopped
    const statuses = await Promise.all(jobs.map(async (job) => (await row(job)).status))
    expect(statuses.sort()).toEqual(['Completed', 'Completed', 'Completed', 'Completed', 'Pending'])
    expect(sent).toHaveLength(4)
  })

  it('that cannot be read delays no other', async () => {
    const payloads = createLargePayloads(database.as('job_worker'), wholeWindow)
    const eventId = await newEvent(MIB)
    const missing = payloads.with('999999', async (payload) => payload)
    const next = payloads.with(eventId, async (payload) => payload?.length)
    await expect(missing).rejects.toThrow('event 999999 is not there')
    expect(await next).toBe(MIB)
  })
})

describe('a payload from before there was a limit', () => {
  it('[J6, S13] is a failed attempt, and the endpoint is not blamed', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    const large = await newJob(await newEventFromBefore(PAYLOAD_BYTES_READ_MAX + 1), subscriptionId)
    const small = await newJob(await newEvent(10), subscriptionId)
    const { sent } = start({ respond: () => delivered })
    await expect.poll(async () => (await row(large)).status).toBe('Failed')
    await expect.poll(async () => (await row(small)).status).toBe('Completed')
    expect((await row(large)).error_code).toBe('payload_too_large')
    expect(sent.map(({ eventId }) => eventId)).toEqual([small.eventId])
    const { rows } = await database.pool.query(
      'SELECT * FROM sagapost.subscription_breakers WHERE subscription_id = $1',
      [subscriptionId],
    )
    expect(rows).toEqual([])
  })

  it('[D2] is kept with the dead letter, and reads show a mark in its place', async () => {
    const eventId = await newEventFromBefore(PAYLOAD_BYTES_READ_MAX + 1)
    const { id, deliveryId } = await newJob(eventId, await insertSubscription(database.pool))
    for (const status of ['Leased', 'Failed']) {
      await database.pool.query('UPDATE sagapost.webhook_delivery_jobs SET status = $2 WHERE id = $1', [
        id,
        status,
      ])
    }
    for (const status of ['PendingRetry', 'DeadLettered']) {
      await database.pool.query(
        `UPDATE sagapost.webhook_delivery_sagas
         SET status = $2, attempt_count = 1, final_error_code = 'payload_too_large' WHERE id = $1`,
        [deliveryId, status],
      )
    }
    const { rows } = await database.pool.query(
      `SELECT id, octet_length(payload_snapshot::text) AS bytes FROM sagapost.dead_letters WHERE saga_id = $1`,
      [deliveryId],
    )
    expect(rows[0].bytes).toBe(PAYLOAD_BYTES_READ_MAX + 1)
    const reads = database.as('saga_readonly_role')
    expect(await getEvent(reads, eventId)).toMatchObject({ payload: 'null', payloadTooLarge: true })
    expect(await getDeadLetter(reads, rows[0].id)).toMatchObject({
      payloadSnapshot: 'null',
      payloadTooLarge: true,
    })
  })

  it('[E1] of the largest size that is read is shown in full', async () => {
    const found = await getEvent(database.as('saga_readonly_role'), await newEvent(PAYLOAD_BYTES_READ_MAX))
    expect(found?.payload).toHaveLength(PAYLOAD_BYTES_READ_MAX)
    expect(found).not.toHaveProperty('payloadTooLarge')
  })
})
