import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EventRange } from '../../../src/database/index.js'
import { resetLeases, reset as resetStatement } from '../../../src/delivery/cleaner/reset-leases.js'
import { claimJobs, claim as claimStatement } from '../../../src/delivery/worker/claim-jobs.js'
import { releaseJobs } from '../../../src/delivery/worker/release-jobs.js'
import { reportResults } from '../../../src/delivery/worker/report-results.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertJob } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()
let range: EventRange

beforeAll(async () => {
  await installClock(database.pool)
  range = (await readWorkWindow(database.as('job_worker'))).fresh
})

const TOKEN = '00000000-0000-4000-8000-000000000000'
const LEASE_MS = 60_000
const look = (options: Partial<Parameters<typeof claimJobs>[1]> = {}) =>
  claimJobs(database.as('job_worker'), {
    range,
    batchMax: 100,
    leaseMs: LEASE_MS,
    workerId: 'worker-a',
    except: [],
    ...options,
  })
const claim = async (batchMax = 100, workerId = 'worker-a', except: string[] = []) =>
  (await look({ batchMax, workerId, except })).jobs
const reset = () => resetLeases(database.as('job_worker'), { range, batchMax: 100, lostLeasesMax: 3 })
const report = (
  jobs: { id: string; eventId: string; leaseToken: string }[],
  errorCode: string | null = null,
) =>
  reportResults(
    database.as('job_worker'),
    range,
    jobs.map(({ id, eventId, leaseToken }) => ({
      jobId: id,
      eventId,
      leaseToken,
      errorCode,
      responseStatus: errorCode ? 500 : 200,
      retryAfterS: null,
      durationMs: 5,
      responseExcerpt: 'ok',
    })),
  )

async function job(id: string) {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.webhook_delivery_jobs WHERE id = $1', [
    id,
  ])
  return rows[0]
}

async function newJob(): Promise<string> {
  return insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
}

/** Whatever other tests have left is finished. */
beforeEach(async () => {
  for (const [from, to] of [
    ['Pending', 'Leased'],
    ['Leased', 'Completed'],
  ]) {
    await database.pool.query('UPDATE sagapost.webhook_delivery_jobs SET status = $2 WHERE status = $1', [
      from,
      to,
    ])
  }
})

describe('claiming', () => {
  it('[J4, J3] leases the job at once, with the payload and the address of its one attempt', async () => {
    const id = await newJob()
    // However long it waited: the lease begins with the claim.
    await moveClock(database.pool, '1 hour')
    const [claimed] = await claim()
    expect(claimed).toMatchObject({
      id,
      attempt: 1,
      eventType: 'order.placed',
      payload: '{"order": 7}',
      callbackUrl: 'https://receiver.example/hooks',
      headers: {},
    })
    const row = await job(id)
    expect(row).toMatchObject({ status: 'Leased', worker_id: 'worker-a', lease_token: claimed?.leaseToken })
    const { rows } = await database.pool.query(
      `SELECT extract(epoch FROM lease_until - sagapost.now()) AS left FROM sagapost.webhook_delivery_jobs WHERE id = $1`,
      [id],
    )
    expect(Number(rows[0].left)).toBeGreaterThan(0)
    expect(Number(rows[0].left)).toBeLessThanOrEqual(LEASE_MS / 1000)
  })

  it('[J3] the webhook id is the same under every lease, for every attempt and every requeue', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery)
    const expected = await webhookIdOfStored(database.pool, delivery.eventId)
    expect(await claim(1, 'lost')).toMatchObject([{ webhookId: expected, attempt: 1 }])
    await moveClock(database.pool, '61 seconds')
    await reset()
    const again = await claim(1, 'heir')
    expect(again).toMatchObject([{ webhookId: expected, attempt: 1 }])
    await report(again, 'http_500')
    const move = (id: string, change: string) =>
      database.pool.query(`UPDATE sagapost.webhook_delivery_sagas SET ${change} WHERE id = $1`, [id])
    await move(delivery.id, `status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500'`)
    const { rows } = await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from)
       VALUES ($1, $2, 7) RETURNING id`,
      [delivery.eventId, delivery.subscriptionId],
    )
    for (const id of [delivery.id, rows[0].id]) {
      await move(id, `status = 'InProgress'`)
      await insertJob(database.pool, { ...delivery, id })
      expect(await claim(1)).toMatchObject([{ deliveryId: id, webhookId: expected }])
    }
  })

  it('[J4] concurrent workers never hold the same job', async () => {
    for (let n = 0; n < 40; n++) await newJob()
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((name) => claim(15, name)))
    const ids = claims.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    await report(claims.flat())
  })

  it('[J4] a claim passes over a job that another worker has locked', async () => {
    const [first, second] = [await newJob(), await newJob()]
    const other = await database.as('job_worker').connect()
    try {
      await other.query('BEGIN')
      await other.query(claimStatement, [
        range.from,
        range.to,
        1,
        LEASE_MS,
        'other',
        [],
        '-infinity',
        [first],
        TOKEN,
      ])
      const claimed = await withoutWaiting(database.pool, claim())
      expect(claimed.map(({ id }) => id)).toEqual([second])
      await other.query('COMMIT')
    } finally {
      other.release(true)
    }
    expect(await job(first)).toMatchObject({ status: 'Leased', worker_id: 'other' })
  })

  it('[J4] leaves the jobs of excluded subscriptions', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery)
    expect(await claim(10, 'worker-a', [delivery.subscriptionId])).toEqual([])
    expect(await claim()).toHaveLength(1)
  })

  it('[J4, J9] a Pending job is not claimed before its lease_until', async () => {
    const id = await newJob()
    await database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased' WHERE id = $1`, [
      id,
    ])
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending', lease_until = sagapost.now() + interval '1 minute' WHERE id = $1`,
      [id],
    )
    expect(await claim()).toEqual([])
    await moveClock(database.pool, '1 minute')
    expect(await claim()).toHaveLength(1)
  })
})

describe('a search for jobs', () => {
  /** Three jobs, ten seconds apart, the oldest first. */
  async function threeJobs() {
    const jobs: { id: string; freeSince: Date }[] = []
    for (let n = 0; n < 3; n++) {
      await moveClock(database.pool, '10 seconds')
      const id = await newJob()
      jobs.push({ id, freeSince: (await job(id)).lease_until })
    }
    return jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]]
  }
  const ids = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id).toSorted()
  const now = async (): Promise<number> =>
    (await database.pool.query('SELECT sagapost.now() AS now')).rows[0].now.getTime()

  it('[J9] begins at its lower bound: jobs that have been free for longer are left', async () => {
    const [first, second, third] = await threeJobs()
    expect(ids((await look({ freeSince: second.freeSince })).jobs)).toEqual(ids([second, third]))
    expect(ids((await look()).jobs)).toEqual([first.id])
  })

  it('[J9] that fills its batch reports the oldest job that it took', async () => {
    const [first, second, third] = await threeJobs()
    const { jobs, passedOverUntil } = await look({ batchMax: 2 })
    expect(ids(jobs)).toEqual(ids([first, second]))
    expect(passedOverUntil).toEqual(first.freeSince)
    const rest = await look({ batchMax: 1 })
    expect([ids(rest.jobs), rest.passedOverUntil]).toEqual([[third.id], third.freeSince])
  })

  it.each([
    ['some', 3],
    ['nothing', 0],
  ])('[J9] that found %s and no more went through to the present', async (_what, count) => {
    if (count > 0) await threeJobs()
    const before = await now()
    const { jobs, passedOverUntil } = await look({ batchMax: 4 })
    expect(jobs).toHaveLength(count)
    expect(passedOverUntil.getTime()).toBeGreaterThanOrEqual(before)
    expect(passedOverUntil.getTime()).toBeLessThanOrEqual(await now())
  })

  it('[J7] takes only from the given jobs, and only while they are free', async () => {
    const [first, second, third] = await threeJobs()
    expect(ids((await look({ only: [second.id] })).jobs)).toEqual([second.id])
    expect((await look({ only: [second.id] })).jobs).toEqual([])
    expect((await look({ only: [] })).jobs).toEqual([])
    expect(ids((await look()).jobs)).toEqual(ids([first, third]))
  })

  it('[J4] leaves excluded subscriptions, and finds the others behind them', async () => {
    const [first, second, third] = await threeJobs()
    const except = [(await job(first.id)).subscription_id, (await job(second.id)).subscription_id]
    expect(ids((await look({ batchMax: 1, except })).jobs)).toEqual([third.id])
    expect((await look({ except })).jobs).toEqual([])
    for (const { id } of [first, second]) expect(await job(id)).toMatchObject({ status: 'Pending' })
  })
})

describe('reporting', () => {
  it('[J6] completes or fails the job, with the response', async () => {
    const [first, second] = [await newJob(), await newJob()]
    const claimed = await claim()
    await report(claimed.filter(({ id }) => id === first))
    await report(
      claimed.filter(({ id }) => id === second),
      'http_500',
    )
    expect(await job(first)).toMatchObject({ status: 'Completed', response_status: 200, error_code: null })
    expect(await job(second)).toMatchObject({
      status: 'Failed',
      response_status: 500,
      error_code: 'http_500',
    })
  })

  it('[J5] under a lease that was lost is refused and changes nothing', async () => {
    const id = await newJob()
    const stale = await claim(1, 'stale')
    await moveClock(database.pool, '61 seconds')
    await reset()
    expect(await report(stale)).toEqual(new Set())
    expect(await job(id)).toMatchObject({ status: 'Pending' })
    const heir = await claim(1, 'heir')
    expect(await report(stale)).toEqual(new Set())
    expect(await job(id)).toMatchObject({ status: 'Leased', worker_id: 'heir' })
    expect(await report(heir)).toEqual(new Set([id]))
    expect(await report(stale, 'http_500')).toEqual(new Set())
    expect(await job(id)).toMatchObject({ status: 'Completed', error_code: null })
  })
})

describe('the Lease Reset Cleaner', () => {
  it('[J8] sets a job back when its lease has run out, not before, and once', async () => {
    const id = await newJob()
    await claim()
    expect(await reset()).toEqual([])
    await moveClock(database.pool, '61 seconds')
    const resets = (await Promise.all([reset(), reset(), reset()])).flat()
    expect(resets).toMatchObject([{ jobId: id, status: 'Pending', workerId: 'worker-a', leaseResets: 1 }])
    expect(await reset()).toEqual([])
    expect(await job(id)).toMatchObject({ status: 'Pending', lease_resets: 1 })
  })

  it('[J9] sets a job free as of now, for workers that continue their search from where they were', async () => {
    const id = await newJob()
    await claim()
    await moveClock(database.pool, '71 seconds')
    const { passedOverUntil } = await look()
    await reset()
    expect((await look({ freeSince: passedOverUntil })).jobs).toMatchObject([{ id }])
  })

  it('[J8] a cleaner passes over a job that another cleaner has locked', async () => {
    const id = await newJob()
    await claim()
    await moveClock(database.pool, '61 seconds')
    const other = await database.as('job_worker').connect()
    try {
      await other.query('BEGIN')
      await other.query(resetStatement, [range.from, range.to, 100, 3])
      expect(await withoutWaiting(database.pool, reset())).toEqual([])
      await other.query('COMMIT')
    } finally {
      other.release(true)
    }
    expect(await job(id)).toMatchObject({ status: 'Pending', lease_resets: 1 })
  })

  it('[J8] fails a job whose lease was lost three times', async () => {
    const id = await newJob()
    let leaseUntil: Date | undefined
    for (const status of ['Pending', 'Pending', 'Failed']) {
      await claim()
      leaseUntil = (await job(id)).lease_until
      await moveClock(database.pool, '61 seconds')
      await reset()
      expect(await job(id)).toMatchObject({ status })
    }
    expect(await job(id)).toMatchObject({
      error_code: 'lease_expired',
      lease_resets: 3,
      lease_until: leaseUntil,
    })
  })
})

it('[J12] a released job is free at once, and only its holder can release it', async () => {
  const id = await newJob()
  const held = await claim()
  await releaseJobs(
    database.as('job_worker'),
    held.map((each) => ({ ...each, leaseToken: TOKEN })),
    wholeWindow,
  )
  expect(await job(id)).toMatchObject({ status: 'Leased' })
  await releaseJobs(database.as('job_worker'), held, wholeWindow)
  expect(await job(id)).toMatchObject({ status: 'Pending', lease_resets: 0 })
  expect(await claim()).toHaveLength(1)
})
