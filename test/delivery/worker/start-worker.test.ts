import { pino } from 'pino'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WorkWindow } from '../../../src/database/index.js'
import { AT_ONCE_MIN, PER_TURN } from '../../../src/delivery/worker/first-tries.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertJob, insertSubscription } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'
import { delivered, failed, useWorker } from './use-worker.js'

const database = useDatabase()
const nothing: WorkWindow = { fresh: { from: '0', to: '0' }, older: [], borders: [] }
let everything: WorkWindow
let window: WorkWindow
const start = useWorker(() => ({ pool: database.as('job_worker'), window: () => window }))

beforeAll(async () => {
  everything = await readWorkWindow(database.as('job_worker'))
})

/** Whatever other tests have left is finished. */
beforeEach(async () => {
  window = everything
  await database.pool.query('DELETE FROM sagapost.subscription_breakers')
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased' WHERE status = 'Pending'`,
  )
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE status = 'Leased'`,
  )
})
afterEach(() => {
  vi.restoreAllMocks()
})

interface Job {
  id: string
  eventId: string
}

async function newJob(subscriptionId: string): Promise<Job> {
  const eventId = await insertEvent(database.pool)
  const { rows } = await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2) RETURNING id`,
    [eventId, subscriptionId],
  )
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = $1`,
    [rows[0].id],
  )
  return { id: await insertJob(database.pool, { id: rows[0].id, eventId, subscriptionId }), eventId }
}

async function newJobs(count: number): Promise<{ subscriptionId: string; jobs: Job[] }> {
  const subscriptionId = await insertSubscription(database.pool)
  const jobs: Job[] = []
  for (let n = 0; n < count; n++) jobs.push(await newJob(subscriptionId))
  return { subscriptionId, jobs }
}

async function row({ id }: Job) {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.webhook_delivery_jobs WHERE id = $1', [
    id,
  ])
  return rows[0]
}
const status = async (job: Job) => (await row(job)).status
const given = { status: 'Pending', lease_resets: 0, finished_at: null }

async function openBreaker(subscriptionId: string, probeIn = '1 hour'): Promise<void> {
  await database.pool.query(
    `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, opened_at, paused_until, probe_at)
     VALUES ($1, 10, sagapost.now(), sagapost.now() + interval '1 day', sagapost.now() + $2::interval)`,
    [subscriptionId, probeIn],
  )
}
async function breakerOf(subscriptionId: string) {
  const { rows } = await database.pool.query(
    'SELECT * FROM sagapost.subscription_breakers WHERE subscription_id = $1',
    [subscriptionId],
  )
  return rows[0]
}

/** Moves the clock of this process. */
function movePerformanceClock(byMs: number): void {
  const real = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => real() + byMs)
}

/** A worker that a subscription has answered, so that it may have half of the slots. */
async function startProven(options: Parameters<typeof start>[0]) {
  const { subscriptionId, jobs } = await newJobs(1)
  const started = start(options)
  await expect.poll(() => started.sent.length).toBe(1)
  started.sent[0]?.answer(delivered)
  await expect.poll(() => status(jobs[0] as Job)).toBe('Completed')
  started.sent.length = 0
  const newJobsOf = async (count: number) => {
    const more: Job[] = []
    for (let n = 0; n < count; n++) more.push(await newJob(subscriptionId))
    return more
  }
  return { ...started, subscriptionId, newJobsOf }
}

describe('a delivery', () => {
  it('[J3, O5] carries the headers, the correlation id and the trace, and its result wakes the orchestrator', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const subscriptionId = await insertSubscription(database.pool)
    await database.pool.query(`UPDATE sagapost.subscriptions SET headers = $2 WHERE id = $1`, [
      subscriptionId,
      { 'x-tenant': 'blue' },
    ])
    const { rows: events } = await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload, correlation_id, traceparent)
       VALUES ('order.placed', '{"order":  7}', 'order-7', $1) RETURNING id`,
      [traceparent],
    )
    await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, correlation_id)
       VALUES ($1, $2, 'order-7')`,
      [events[0].id, subscriptionId],
    )
    const { rows } = await database.pool.query(
      `WITH saga AS (
         UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress'
         WHERE subscription_id = $1 RETURNING id, event_id
       )
       INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, correlation_id)
       SELECT id, event_id, $1, 'order-7' FROM saga RETURNING id, event_id`,
      [subscriptionId],
    )
    const job: Job = { id: rows[0].id, eventId: rows[0].event_id }
    const { sent, wakeups } = start({ respond: () => delivered })
    let woken = 0
    wakeups.onWake('results', () => {
      woken += 1
    })
    await expect.poll(() => status(job)).toBe('Completed')
    expect(sent.map(({ request }) => request)).toMatchObject([
      {
        url: 'https://receiver.example/hooks',
        webhookId: await webhookIdOfStored(database.pool, job.eventId),
        body: Buffer.from('{"order":  7}'),
        headers: {
          'x-tenant': 'blue',
          'sagapost-event-type': 'order.placed',
          'sagapost-attempt': '1',
          'sagapost-correlation-id': 'order-7',
          traceparent,
        },
      },
    ])
    await expect.poll(() => woken).toBe(1)
  })

  it('[J11, O5] is logged with the webhook id that the receiver got, delivered or not', async () => {
    const lines: Record<string, unknown>[] = []
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
    const { jobs } = await newJobs(2)
    const { sent } = start({ log })
    // One that was never tried gets one delivery first.
    await expect.poll(() => sent.length).toBe(1)
    sent[0]?.answer(delivered)
    await expect.poll(() => sent.length).toBe(2)
    sent[1]?.answer(failed(500))
    await expect.poll(() => lines.map(({ msg }) => msg).sort()).toEqual(['delivered', 'not delivered'])
    for (const { eventId } of jobs) {
      expect(lines.filter((line) => line['event_id'] === eventId)).toMatchObject([
        { webhook_id: await webhookIdOfStored(database.pool, eventId) },
      ])
    }
    expect(sent.map(({ request }) => request.webhookId).sort()).toEqual(
      lines.map((line) => line['webhook_id']).sort(),
    )
  })

  it('[J4] is claimed again when its endpoint answers before the job has been released', async () => {
    const { jobs } = await newJobs(2)
    const pool = database.as('job_worker')
    const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
    let letGo = () => {}
    const answered = new Promise<void>((resolve) => {
      letGo = resolve
    })
    vi.spyOn(pool, 'query').mockImplementation(async (...args: unknown[]) => {
      if (JSON.stringify(args[0]).includes("SET status = 'Pending', lease_until")) await answered
      return query(...args)
    })
    const { sent } = start({})
    await expect.poll(() => sent.length).toBe(1)
    sent[0]?.answer(delivered)
    const statuses = async () => (await Promise.all(jobs.map(status))).sort()
    await expect.poll(statuses).toEqual(['Completed', 'Leased'])
    letGo()
    await expect.poll(() => sent.length).toBe(2)
    sent[1]?.answer(delivered)
    await expect.poll(statuses).toEqual(['Completed', 'Completed'])
  })

  it('[J6] without a readable secret is not sent and fails', async () => {
    const [job] = (await newJobs(1)).jobs as [Job]
    const { sent } = start({ readSecrets: async () => new Map() })
    await expect.poll(() => status(job)).toBe('Failed')
    expect(await row(job)).toMatchObject({ error_code: 'secret_unreadable' })
    expect(sent).toEqual([])
  })

  it('[J5] whose lease was lost meanwhile is refused, and counted as refused', async () => {
    const [job] = (await newJobs(1)).jobs as [Job]
    const { sent, counts } = start()
    await expect.poll(() => sent.length).toBe(1)
    await database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending' WHERE id = $1`, [
      job.id,
    ])
    window = nothing
    sent[0]?.answer(delivered)
    await expect.poll(() => counts.refused).toBe(1)
    expect(await status(job)).toBe('Pending')
  })
})

describe('untried endpoints', () => {
  it('[J3] are tried a few at a time, so that others get their turn in between', async () => {
    for (let n = 0; n < 12; n++) await newJobs(1)
    const begun = { all: 0, inOneTurn: 0, inThisTurn: 0 }
    const send = async () => {
      begun.all += 1
      begun.inThisTurn += 1
      begun.inOneTurn = Math.max(begun.inOneTurn, begun.inThisTurn)
      setImmediate(() => {
        begun.inThisTurn = 0
      })
      return delivered
    }
    start({ sender: { send, close: async () => {} } })
    await expect.poll(() => begun.all).toBe(12)
    expect(begun.inOneTurn).toBe(PER_TURN)
  })

  it('[J3] are all tried, though none of those before them answers', async () => {
    const endpoints = AT_ONCE_MIN + 10
    for (let n = 0; n < endpoints; n++) await newJobs(1)
    const { sent } = start()
    await expect.poll(() => sent.length).toBe(endpoints)
  })

  it('[J3] take no slot of an endpoint that has answered, and get their turn one after the other', async () => {
    const { sent, sentIds, wakeups, newJobsOf } = await startProven({ concurrency: 1 })
    window = nothing
    const untried: Job[] = []
    for (let n = 0; n < 12; n++) untried.push((await newJobs(1)).jobs[0] as Job)
    window = everything
    wakeups.wake('claims')
    const statuses = async () => (await Promise.all(untried.map(status))).sort().join()
    // Ten are sent, as many as there are slots for them.
    await expect.poll(statuses).toBe([...Array(10).fill('Leased'), ...Array(2).fill('Pending')].join())
    await expect.poll(() => sent.length).toBe(10)

    const [later] = (await newJobsOf(1)) as [Job]
    wakeups.wake('claims')
    await expect.poll(() => sentIds().slice(10)).toEqual([later.eventId])

    const all = new Set([later, ...untried].map(({ eventId }) => eventId))
    await expect
      .poll(() => {
        for (const { answer } of sent) answer(failed(500))
        wakeups.wake('claims')
        return new Set(sentIds())
      })
      .toEqual(all)
  })

  it('[J3] come before those known to fail, however long that backlog, and wait for none of their slots', async () => {
    const failing = await Promise.all(Array.from({ length: 9 }, () => newJobs(3)))
    for (const { subscriptionId } of failing) {
      await database.pool.query(
        'INSERT INTO sagapost.subscription_breakers (subscription_id, failures) VALUES ($1, 1)',
        [subscriptionId],
      )
    }
    const { sent, sentIds, wakeups } = start({ concurrency: 1 })
    // Of ten slots six are for those that fail.
    await expect.poll(() => sent.length).toBe(6)
    const fresh = await newJobs(1)
    wakeups.wake('claims')
    await expect.poll(() => sentIds().slice(6)).toEqual([fresh.jobs[0]?.eventId])
    // Each of them has one request at a time, though all have more.
    const subscriptionOf = new Map(
      failing.flatMap(({ subscriptionId, jobs }) => jobs.map(({ eventId }) => [eventId, subscriptionId])),
    )
    const tried = () =>
      sentIds()
        .slice(0, 6)
        .map((eventId) => subscriptionOf.get(eventId))
    expect(new Set(tried()).size).toBe(6)
  })
})

describe('an endpoint that has answered another worker, or this one before a restart', () => {
  const complete = (subscriptionId: string) =>
    database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed', attempt_count = 1
       WHERE subscription_id = $1 AND status = 'InProgress'`,
      [subscriptionId],
    )
  const known = async (jobs: number) => {
    const { subscriptionId } = await newJobs(1)
    await complete(subscriptionId)
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased' WHERE subscription_id = $1`,
      [subscriptionId],
    )
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE subscription_id = $1`,
      [subscriptionId],
    )
    for (let n = 0; n < jobs; n++) await newJob(subscriptionId)
    return subscriptionId
  }

  it('[J3] has its share of the slots at once; an endpoint that never answered is tried with one delivery first', async () => {
    await known(4)
    await newJobs(4)
    const { sent } = start({ concurrency: 4 })
    await expect.poll(() => sent.length).toBe(3)
  })

  it('[J3] and whose last delivery has failed is tried with one delivery first', async () => {
    const subscriptionId = await known(4)
    await database.pool.query(
      'INSERT INTO sagapost.subscription_breakers (subscription_id, failures) VALUES ($1, 1)',
      [subscriptionId],
    )
    const { sent } = start({ concurrency: 4 })
    await expect.poll(() => sent.length).toBe(1)
    const [healthy] = (await newJobs(1)).jobs as [Job]
    await expect.poll(() => sent.map(({ eventId }) => eventId)).toContain(healthy.eventId)
    expect(sent).toHaveLength(2)
    sent[0]?.answer(delivered)
    await expect.poll(() => sent.length).toBe(4)
  })

  it('[J3] and stops answering leaves its slots to the others after two seconds, and its requests are not cut short', async () => {
    await known(4)
    const { sent, counts, wakeups } = start({ concurrency: 1 })
    await expect.poll(() => sent.length).toBe(1)
    await known(1)
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(2)
    sent[0]?.answer(delivered)
    // It goes on, in the slot that is its own again.
    await expect.poll(() => sent.length).toBe(3)
    expect(counts.finished).toBe(1)
  })
})

describe('an endpoint that fails with a backlog', () => {
  it('[J3] is tried with one delivery at a time: nothing that waits for it is fetched only to be given back', async () => {
    const { sent, wakeups, counts } = await startProven({ concurrency: 8 })
    window = nothing
    const { jobs } = await newJobs(40)
    window = everything
    wakeups.wake('claims')
    const leased = async () =>
      (await Promise.all(jobs.map(status))).filter((each) => each === 'Leased').length
    await expect.poll(() => sent.length).toBe(1)
    await expect.poll(leased).toBe(1)
    const before = counts.claimed
    for (let answered = 0; answered < 5; answered++) {
      sent[answered]?.answer(failed(500))
      wakeups.wake('claims')
      await expect.poll(() => sent.length).toBe(answered + 2)
      await expect.poll(leased).toBe(1)
    }
    expect(counts.claimed - before).toBe(5)
  })
})

describe('jobs that were claimed and not begun', () => {
  it('[J5] are given back when their lease is nearly over, though their slot is still taken', async () => {
    const { sent, wakeups, newJobsOf } = await startProven({ concurrency: 1 })
    const [first, second] = (await newJobsOf(2)) as [Job, Job]
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(1)
    await expect.poll(() => status(second)).toBe('Leased')
    window = { ...nothing, borders: everything.borders }
    movePerformanceClock(48_500)
    wakeups.wake('claims')
    await expect.poll(() => status(second)).toBe('Pending')
    expect(await row(second)).toMatchObject(given)
    expect([await status(first), sent.length]).toEqual(['Leased', 1])
  })

  it('[J5] are given back, not sent, when their turn comes too late, and leave their slot to others', async () => {
    const { sent, sentIds, wakeups, newJobsOf } = await startProven({ concurrency: 1 })
    const [first, second] = (await newJobsOf(2)) as [Job, Job]
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(1)
    await expect.poll(() => status(second)).toBe('Leased')
    window = { ...nothing, borders: everything.borders }
    movePerformanceClock(48_500)
    sent[0]?.answer(delivered)
    await expect.poll(() => status(second)).toBe('Pending')
    expect(await row(second)).toMatchObject(given)
    expect([await status(first), sentIds()]).toEqual(['Completed', [first.eventId]])
    window = everything
    wakeups.wake('claims')
    await expect.poll(sentIds).toEqual([first.eventId, second.eventId])
  })

  it('[J5] are given back in one statement when they are late together', async () => {
    const { sent, newJobsOf, wakeups } = await startProven({ concurrency: 4 })
    const jobs = await newJobsOf(8)
    wakeups.wake('claims')
    const leased = async () =>
      (await Promise.all(jobs.map(status))).filter((each) => each === 'Leased').length
    await expect.poll(leased).toBeGreaterThan(4)
    const begun = sent.length
    const waiting = (await leased()) - begun
    window = { ...nothing, borders: everything.borders }
    movePerformanceClock(48_500)
    const queries = vi.spyOn(database.as('job_worker'), 'query')
    sent[0]?.answer(delivered)
    await expect.poll(leased).toBe(begun - 1)
    const releases = queries.mock.calls.filter(([text]) => String(text).includes('AS held (id'))
    expect(releases.map(([, values]) => (values as unknown as string[][])[2]?.length)).toEqual([waiting])
  })

  it('[J5] are begun as long as the lease has time for the exchange and the report', async () => {
    const { sent, sentIds, wakeups, newJobsOf } = await startProven({ concurrency: 1 })
    const [first, second] = (await newJobsOf(2)) as [Job, Job]
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(1)
    await expect.poll(() => status(second)).toBe('Leased')
    window = nothing
    movePerformanceClock(20_000)
    sent[0]?.answer(delivered)
    await expect.poll(sentIds).toEqual([first.eventId, second.eventId])
  })

  it('[J12] are given back when their secrets cannot be read, and taken up again', async () => {
    const jobs = [...(await newJobs(1)).jobs, ...(await newJobs(1)).jobs]
    let asked = 0
    const { sent, counts, wakeups } = start({
      readSecrets: async (ids) => {
        asked += 1
        if (asked > 1) return new Map(ids.map((id) => [id, [{ scheme: 'v1', key: Buffer.alloc(32) }]]))
        window = nothing
        throw new Error('the database is unreachable')
      },
    })
    await expect.poll(() => counts.claimed).toBe(2)
    for (const job of jobs) {
      await expect.poll(() => status(job)).toBe('Pending')
      expect(await row(job)).toMatchObject(given)
    }
    expect([sent, counts.failedRounds]).toEqual([[], 1])
    window = everything
    wakeups.wake('claims')
    await expect.poll(() => sent.length).toBe(2)
  })

  it('[J12] are given back by a stop, which waits for what was begun and for nothing else', async () => {
    const { worker, sent, sentIds, newJobsOf, wakeups } = await startProven({ concurrency: 1 })
    const [begun, queued] = (await newJobsOf(2)) as [Job, Job]
    wakeups.wake('claims')
    for (const job of [begun, queued]) await expect.poll(() => status(job)).toBe('Leased')
    let stopped = false
    const stopping = worker.stop().then(() => {
      stopped = true
    })
    await expect.poll(() => status(queued)).toBe('Pending')
    expect([await status(begun), stopped]).toEqual(['Leased', false])
    sent[0]?.answer(delivered)
    await stopping
    expect([await status(begun), sentIds()]).toEqual(['Completed', [begun.eventId]])
    expect(await row(queued)).toMatchObject(given)
  })

  it('[J12] are given back when the stop came between their claim and their secrets', async () => {
    const [job] = (await newJobs(1)).jobs as [Job]
    let answer = (_secrets: Map<string, { scheme: 'v1'; key: Buffer }[]>) => {}
    let ids: readonly string[] = []
    const { worker, sent } = start({
      respond: () => delivered,
      readSecrets: (asked) =>
        new Promise((resolve) => {
          ids = asked
          answer = resolve
        }),
    })
    await expect.poll(() => ids.length).toBe(1)
    const stopping = worker.stop()
    answer(new Map(ids.map((id) => [id, [{ scheme: 'v1', key: Buffer.alloc(32) }]])))
    await stopping
    expect(sent).toEqual([])
    expect(await row(job)).toMatchObject(given)
  })
})

describe('a paused endpoint', () => {
  it('[J7] gets nothing from a worker that starts, and everything as soon as it is resumed', async () => {
    const { subscriptionId, jobs } = await newJobs(2)
    await openBreaker(subscriptionId)
    const [healthy] = (await newJobs(1)).jobs as [Job]
    const { sentIds, counts } = start({ respond: () => delivered })
    await expect.poll(() => status(healthy)).toBe('Completed')
    expect([sentIds(), counts.claimed]).toEqual([[healthy.eventId], 1])
    for (const job of jobs) expect(await row(job)).toMatchObject({ ...given, worker_id: null })
    await database.pool.query('DELETE FROM sagapost.subscription_breakers')
    for (const job of jobs) await expect.poll(() => status(job)).toBe('Completed')
  })

  it('[J7] gets no more of its queued jobs once its breaker opens: they are given back', async () => {
    const { sent, sentIds, wakeups, subscriptionId, newJobsOf } = await startProven({ concurrency: 1 })
    const [begun, queued] = (await newJobsOf(2)) as [Job, Job]
    wakeups.wake('claims')
    for (const job of [begun, queued]) await expect.poll(() => status(job)).toBe('Leased')
    await openBreaker(subscriptionId)
    await expect.poll(() => status(queued)).toBe('Pending')
    sent[0]?.answer(failed(500))
    await expect.poll(() => status(begun)).toBe('Failed')
    const [healthy] = (await newJobs(1)).jobs as [Job]
    wakeups.wake('claims')
    await expect.poll(sentIds).toEqual([begun.eventId, healthy.eventId])
    expect(await row(queued)).toMatchObject(given)
  })

  it('[J3, J12] is probed with one delivery, whose failure is its attempt like any other', async () => {
    const { subscriptionId, jobs } = await newJobs(2)
    const [first, second] = jobs as [Job, Job]
    await openBreaker(subscriptionId, '-1 second')
    const { sentIds, counts } = start({ respond: () => failed(500) })
    await expect.poll(() => status(first)).toBe('Failed')
    expect(await row(first)).toMatchObject({ error_code: 'http_500', response_status: 500, lease_resets: 0 })
    await expect.poll(async () => (await breakerOf(subscriptionId))?.failures).toBe(11)
    expect(await row(second)).toMatchObject(given)
    expect([sentIds(), counts.finished]).toEqual([[first.eventId], 1])
  })

  it('[J7] that answers a probe with 410 is gone: the delivery fails', async () => {
    const { subscriptionId, jobs } = await newJobs(1)
    const [job] = jobs as [Job]
    await openBreaker(subscriptionId, '-1 second')
    start({ respond: () => failed(410) })
    await expect.poll(() => status(job)).toBe('Failed')
    expect(await row(job)).toMatchObject({ error_code: 'http_410', response_status: 410 })
  })

  it('[J3, J7] gets nothing that was being claimed when its breaker opened: it is given back unsent', async () => {
    const { subscriptionId, jobs } = await newJobs(2)
    const queries = vi.spyOn(database.as('job_worker'), 'query')
    const exchanges = () =>
      queries.mock.calls.filter(([query]) => JSON.stringify(query).includes('probe_due')).length
    let opened = false
    const { sent } = start({
      readSecrets: async (ids) => {
        await openBreaker(subscriptionId)
        opened = true
        // The one that tells of it has ended when the next one begins.
        const before = exchanges()
        await expect.poll(exchanges).toBeGreaterThan(before + 2)
        return new Map(ids.map((id) => [id, [{ scheme: 'v1', key: Buffer.alloc(32) }]]))
      },
    })
    await expect.poll(() => opened).toBe(true)
    await expect.poll(async () => (await row(jobs[0] as Job)).worker_id).toBe('worker-a')
    for (const job of jobs) await expect.poll(() => status(job)).toBe('Pending')
    expect(sent).toEqual([])
  })

  it('[J12] whose request was sent before the sender failed is not given back: its lease expires, and is counted', async () => {
    const [job] = (await newJobs(1)).jobs as [Job]
    const lines: string[] = []
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) })
    const send = () => {
      window = nothing
      return Promise.reject(new Error('a bug'))
    }
    start({ log, sender: { send, close: async () => {} } })
    await expect.poll(() => lines.length).toBe(1)
    expect(await row(job)).toMatchObject({ status: 'Leased', lease_resets: 0 })
  })

  it('[J7] is probed in slots of its own: a hanging probe takes none from endpoints that answer', async () => {
    const { sent, sentIds, wakeups, newJobsOf } = await startProven({ concurrency: 1 })
    const paused = [await insertSubscription(database.pool), await insertSubscription(database.pool)]
    paused.push(await insertSubscription(database.pool))
    for (const subscriptionId of paused) await openBreaker(subscriptionId, '1 hour')
    const jobs = await Promise.all(paused.map(newJob))
    await database.pool.query(`UPDATE sagapost.subscription_breakers SET probe_at = sagapost.now()`)
    // Of three that are due two are tried: as many as there are slots for probes.
    await expect.poll(() => sent.length).toBe(2)
    const [healthy] = (await newJobsOf(1)) as [Job]
    wakeups.wake('claims')
    await expect.poll(() => sentIds()[2]).toBe(healthy.eventId)
    expect((await Promise.all(jobs.map(status))).sort()).toEqual(['Leased', 'Leased', 'Pending'])
  })

  it('[J7] that answers a probe well is resumed, and gets the rest without a poll', async () => {
    const { subscriptionId, jobs } = await newJobs(3)
    await openBreaker(subscriptionId, '-1 second')
    const { counts } = start({ respond: () => delivered })
    for (const job of jobs) await expect.poll(() => status(job)).toBe('Completed')
    expect([await breakerOf(subscriptionId), counts.closed]).toEqual([undefined, 1])
  })
})

describe('an older range of the window', () => {
  const dividedAt = (border: string): WorkWindow => {
    const { from, to } = everything.fresh
    return { fresh: { from: border, to }, older: [{ from, to: border }], borders: [from, border, to] }
  }
  const openJobOf = `
    SELECT FROM sagapost.webhook_delivery_jobs WHERE event_id = $1 AND status IN ('Pending', 'Leased')`

  it('[J9] is claimed from as well', async () => {
    const { jobs } = await newJobs(2)
    const [old, fresh] = jobs as [Job, Job]
    window = dividedAt(fresh.eventId)
    start({ respond: () => delivered })
    for (const job of [old, fresh]) await expect.poll(() => status(job)).toBe('Completed')
  })

  it('[J9] has its turn although there is more fresh work than the worker can do', async () => {
    const subscriptions = await Promise.all(
      Array.from({ length: 4 }, () => insertSubscription(database.pool)),
    )
    const { sent, sentIds, wakeups, counts } = start({ concurrency: 4 })
    let answered = 0
    const answerUntil = async (count: number) => {
      while (answered < count) {
        await expect.poll(() => sent.length).toBeGreaterThan(answered)
        const waiting = sent.slice(answered)
        answered = sent.length
        for (const { answer } of waiting) answer(delivered)
        for (const { eventId } of waiting) {
          await expect.poll(async () => (await database.pool.query(openJobOf, [eventId])).rowCount).toBe(0)
        }
      }
    }
    // Endpoints that have answered: others begin one by one, and leave room.
    for (const subscriptionId of subscriptions) await newJob(subscriptionId)
    wakeups.wake('claims')
    await answerUntil(4)
    window = nothing
    const old = await newJob(subscriptions[0] as string)
    const fresh: Job[] = []
    for (let n = 0; n < 60; n++) fresh.push(await newJob(subscriptions[n % 4] as string))
    const [first] = fresh as [Job]
    window = dividedAt(first.eventId)
    wakeups.wake('claims')
    // More than twice what it holds at a time: it has claimed in several rounds.
    await answerUntil(24)
    expect(sentIds()).toContain(old.eventId)
    expect(counts.claimed).toBeLessThan(65)
  })

  it('[J9, R1] is claimed from in turn, when there are more than are visited in one round', async () => {
    const jobs: Job[] = []
    for (let n = 0; n < 11; n++) jobs.push(await newJob(await insertSubscription(database.pool)))
    const borders = [...jobs.map(({ eventId }) => eventId), everything.fresh.to]
    const older = jobs.map(({ eventId }, n) => ({ from: eventId, to: borders[n + 1] as string }))
    window = { ...nothing, older, borders }
    start({ respond: () => delivered })
    for (const job of jobs) await expect.poll(() => status(job)).toBe('Completed')
  })

  it('[J9] costs an idle worker only its polls', async () => {
    const older = [1, 2, 3, 4, 5].map((from) => ({ from: String(from), to: String(from + 1) }))
    window = { ...nothing, older, borders: ['1', '2', '3', '4', '5', '6'] }
    const queries = vi.spyOn(database.as('job_worker'), 'query')
    start({ pollMs: () => 300 })
    const count = (part: string) => queries.mock.calls.filter(([text]) => String(text).includes(part)).length
    // The look at switches polls as often as the claims do, and does nothing else.
    const polls = () => count('subscription_switches AS switch')
    await expect.poll(polls).toBeGreaterThan(3)
    const [claimsBefore, pollsBefore] = [count('AS looked_at_ms'), polls()]
    await expect.poll(polls).toBeGreaterThan(pollsBefore + 7)
    // One claim in the fresh range and four in older ones for each poll, and as much again to be sure.
    expect(count('AS looked_at_ms') - claimsBefore).toBeLessThan((polls() - pollsBefore) * 10)
    vi.restoreAllMocks()
  })

  it('[J7] is probed first, and one delivery is enough for both', async () => {
    const { subscriptionId, jobs } = await newJobs(2)
    const [old, fresh] = jobs as [Job, Job]
    await openBreaker(subscriptionId, '-1 second')
    window = dividedAt(fresh.eventId)
    const { sentIds, counts } = start({ respond: () => failed(500) })
    await expect.poll(() => status(old)).toBe('Failed')
    await expect.poll(async () => (await breakerOf(subscriptionId))?.failures).toBe(11)
    expect([sentIds(), counts.claimed]).toEqual([[old.eventId], 1])
  })
})
