import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createRolePool, type EventRange } from '../../../src/database/index.js'
import { resetLeases } from '../../../src/delivery/cleaner/reset-leases.js'
import { applyResults } from '../../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { type ClaimedJob, claimJobs } from '../../../src/delivery/worker/claim-jobs.js'
import { reportResults } from '../../../src/delivery/worker/report-results.js'
import { letGoHeldJobs, stopFreeJobs } from '../../../src/delivery/worker/take-stopped.js'
import { createBacklogCollector, createMetrics } from '../../../src/observability/index.js'
import { installStoppedClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { defaultRetryPolicy } from '../../support/retry-policy.js'
import { insertSaga, insertStuckSaga } from '../../support/sagas.js'
import { wholeWindow } from '../../support/whole-window.js'
import { parseMetrics, pipelineSeries } from '../metrics/parse-metrics.js'

const database = useDatabase()
let range: EventRange

beforeAll(async () => {
  // Ages can be compared exactly.
  await installStoppedClock(database.pool)
  range = (await readWorkWindow(database.as('job_worker'))).fresh
})

const collectorOf = (options = {}) =>
  createBacklogCollector(database.as('saga_readonly_role'), { cacheMs: 0, ...options })

/** The stages that are not empty: how many wait, and how long the oldest has. */
async function backlog(): Promise<Record<string, [count: number, oldestAgeS: number | null]>> {
  const stages = (await collectorOf().collect()) ?? []
  expect(stages).toHaveLength(14)
  for (const { count, oldestAgeS } of stages) if (count === 0) expect(oldestAgeS ?? 0).toBe(0)
  return Object.fromEntries(
    stages
      .filter(({ count }) => count > 0)
      .map(({ stage, count, oldestAgeS }) => [stage, [count, oldestAgeS]]),
  )
}

const move = (seconds: number) => moveClock(database.pool, `${seconds} seconds`)
const claim = (batchMax: number) =>
  claimJobs(database.as('job_worker'), { range, batchMax, leaseMs: 60_000, workerId: 'w', except: [] })
const report = (job: ClaimedJob | undefined, errorCode: string | null) => {
  if (!job) throw new Error('no job was claimed')
  const result = { responseStatus: 200, retryAfterS: null, durationMs: 5, responseExcerpt: null }
  const { id: jobId, eventId, leaseToken } = job
  return reportResults(database.as('job_worker'), range, [
    { jobId, eventId, leaseToken, errorCode, ...result },
  ])
}
const make = () => makeJobs(database.as('saga_orchestrator'), { range, batchMax: 100, limit: 5 })

it('[O5] every stage counts what is waiting, and ages by the clock of the database', async () => {
  expect(await backlog()).toEqual({})
  await insertSubscription(database.pool)
  for (let n = 0; n < 4; n++) await insertEvent(database.pool)
  await move(10)
  await insertEvent(database.pool, { type: 'nobody.listens' })
  expect(await backlog()).toEqual({ routing: [5, 10] })

  await routeEvents(database.as('router_worker'), createSubscriptionCache(), 100)
  expect(await backlog()).toEqual({ first_jobs: [4, 0] })
  await move(5)
  expect(await backlog()).toEqual({ first_jobs: [4, 5] })

  await make()
  await move(7)
  expect(await backlog()).toEqual({ claims: [4, 7] })

  const [first, second] = (await claim(3)).jobs
  expect(await backlog()).toEqual({ claims: [1, 7], leased: [3, null] })

  await report(first, null)
  await move(1)
  await report(second, 'http_500')
  await move(3)
  expect(await backlog()).toEqual({ claims: [1, 11], leased: [1, null], results: [2, 4] })

  await applyResults(database.as('saga_orchestrator'), {
    batchMax: 100,
    policy: defaultRetryPolicy,
    window: wholeWindow,
  })
  expect(await backlog()).toEqual({ claims: [1, 11], leased: [1, null], retries_waiting: [1, null] })

  // 30 s of back-off and 60 s of lease, of which 4 had passed.
  await move(32)
  expect(await backlog()).toEqual({ claims: [1, 43], leased: [1, null], retries_due: [1, 2] })
  await move(30)
  expect(await backlog()).toEqual({ claims: [1, 73], leases_expired: [1, 6], retries_due: [1, 32] })

  await resetLeases(database.as('job_worker'), { range, batchMax: 100, lostLeasesMax: 3 })
  await make()
  expect(await backlog()).toMatchObject({ claims: [3, expect.any(Number)] })
  await database.pool.query(
    `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, opened_at, paused_until, probe_at)
     SELECT subscription_id, 10, sagapost.now(), sagapost.now() + interval '20 s', sagapost.now()
     FROM sagapost.webhook_delivery_jobs WHERE status = 'Pending' ORDER BY id LIMIT 1`,
  )
  const paused = await backlog()
  expect(paused['claims_paused']?.[0]).toBeGreaterThan(0)
  expect((paused['claims']?.[0] ?? 0) + (paused['claims_paused']?.[0] ?? 0)).toBe(3)
  await move(21)
  expect(await backlog()).toMatchObject({ claims: [3, expect.any(Number)] })

  await database.pool.query('UPDATE sagapost.subscriptions SET active = false')
  const { rows } = await database.pool.query('SELECT id FROM sagapost.subscriptions')
  const taking = { range, batchMax: 100, leaseMs: 60_000, workerId: 'worker-1' }
  const ids = rows.map(({ id }) => id)
  await stopFreeJobs(database.as('job_worker'), taking, ids, undefined)
  expect(await backlog()).toEqual({ claims_held: [3, null] })
  await database.pool.query('UPDATE sagapost.subscriptions SET active = true')
  await letGoHeldJobs(database.as('job_worker'), taking, ids)
  expect(await backlog()).toEqual({ claims: [3, 0] })
})

it('[O5, R1] events that were set aside count until they are requeued', async () => {
  const event = await insertEvent(database.pool)
  await database.pool.query(
    `INSERT INTO sagapost.set_aside_events (event_id, event_type, error_code, reason) VALUES ($1, 'order.placed', '23514', '')`,
    [event],
  )
  await move(4)
  expect(await backlog()).toMatchObject({ set_aside: [1, 4] })
  await database.as('dead_letter_operator').query('SELECT sagapost.requeue_set_aside_events()')
  expect((await backlog())['set_aside']).toBeUndefined()
})

it('[O5, G14] sagas: due, held or waiting for their time, and stuck', async () => {
  const sagas = async () =>
    Object.fromEntries(Object.entries(await backlog()).filter(([stage]) => stage.startsWith('sagas_')))
  const app = database.as('saga_app_role')
  await insertSaga(app)
  await move(5)
  const held = await insertSaga(app)
  expect(await sagas()).toEqual({ sagas_due: [2, 5] })
  await app.query(
    `UPDATE sagapost.saga_instances SET lease_owner = 'a', lease_until = sagapost.now() + interval '30 s',
            wake_at = sagapost.now() + interval '30 s' WHERE id = $1`,
    [held],
  )
  expect(await sagas()).toEqual({ sagas_due: [1, 5], sagas_open: [1, null] })
  await move(40)
  expect(await sagas()).toEqual({ sagas_due: [2, 45] })
  await insertStuckSaga(app)
  await move(3)
  expect(await sagas()).toEqual({ sagas_due: [2, 48], sagas_stuck: [1, 3] })
})

it('[O5] a count stops at its limit', async () => {
  for (let n = 0; n < 4; n++) await insertEvent(database.pool)
  const stages = await collectorOf({ countMax: 3 }).collect()
  expect(stages?.find(({ stage }) => stage === 'routing')).toMatchObject({ count: 3 })
})

it('[O5] queries again only when its answer is some seconds old', async () => {
  const routing = async (collector: ReturnType<typeof collectorOf>) =>
    (await collector.collect())?.find(({ stage }) => stage === 'routing')?.count ?? -1
  const collector = collectorOf({ cacheMs: 60_000 })
  const before = await routing(collector)
  await insertEvent(database.pool)
  expect(await routing(collector)).toBe(before)
  expect(await routing(collectorOf())).toBe(before + 1)
})

it('[O5] scrapes at the same time share one query', async () => {
  const connect = vi.spyOn(database.as('saga_readonly_role'), 'connect')
  try {
    const collector = collectorOf()
    const answers = await Promise.all([collector.collect(), collector.collect(), collector.collect()])
    expect(answers[0]).toHaveLength(14)
    expect(answers[1]).toEqual(answers[0])
    expect(connect).toHaveBeenCalledTimes(1)
    await collector.collect()
    expect(connect).toHaveBeenCalledTimes(2)
  } finally {
    connect.mockRestore()
  }
})

describe('when the database is unreachable', () => {
  const away = { sagapost_backlog_up: 0 }
  const backlogSeries = (body: string) =>
    Object.fromEntries([...pipelineSeries(body)].filter(([key]) => /backlog|oldest/.test(key)))

  it('[O5] a scrape that reaches the database reports it, with every stage', async () => {
    const { body } = await createMetrics({ backlog: collectorOf() }).render()
    expect(backlogSeries(body)['sagapost_backlog_up']).toBe(1)
    const stages = (name: string) =>
      parseMetrics(body)
        .get(name)
        ?.samples.map(({ labels }) => labels['stage'])
    expect(stages('sagapost_backlog')).toHaveLength(14)
    expect(stages('sagapost_oldest_age_seconds')).toEqual([
      'routing',
      'set_aside',
      'first_jobs',
      'retries_due',
      'claims',
      'leases_expired',
      'results',
      'sagas_due',
      'sagas_stuck',
    ])
  })

  it('[O5] a refused connection leaves the backlogs out and the rest in', async () => {
    const pool = createRolePool({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/nowhere',
      role: 'saga_readonly_role',
      connectionsMax: 1,
    })
    const metrics = createMetrics({ backlog: createBacklogCollector(pool) })
    metrics.jobsClaimed(3)
    const { body } = await metrics.render()
    expect(backlogSeries(body)).toEqual(away)
    expect(pipelineSeries(body).get('sagapost_jobs_claimed_total')).toBe(3)
    await pool.end()
  })

  it('[O5] a server that accepts and never answers does not hold up the scrape', async () => {
    const sockets = new Set<import('node:net').Socket>()
    const silent = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const pool = createRolePool({
      databaseUrl: `postgres://nobody@127.0.0.1:${port}/nowhere`,
      role: 'saga_readonly_role',
      connectionsMax: 1,
    })
    const metrics = createMetrics({ backlog: createBacklogCollector(pool, { timeLimitMs: 20 }) })
    expect(backlogSeries((await metrics.render()).body)).toEqual(away)
    expect(pool.totalCount, 'it is still connecting').toBe(1)
    for (const socket of sockets) socket.destroy()
    silent.close()
    await pool.end()
  })

  it('[O5] a statement that waits is cancelled on the server too, and the next one reads everything again', async () => {
    const metrics = createMetrics({ backlog: collectorOf({ timeLimitMs: 1_000 }) })
    const isUp = async () => backlogSeries((await metrics.render()).body)['sagapost_backlog_up']
    await expect.poll(isUp).toBe(1)
    const waiting = async () =>
      (
        await database.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).rowCount
    const blocker = await database.pool.connect()
    try {
      await blocker.query('BEGIN; LOCK TABLE sagapost.event_routing_queue IN ACCESS EXCLUSIVE MODE')
      // On a busy machine the time may be up before anybody has seen it wait: then it is asked for again.
      let scrape: ReturnType<typeof metrics.render> | undefined
      await expect
        .poll(() => {
          scrape ??= metrics.render().finally(() => {
            scrape = undefined
          })
          return waiting()
        })
        .toBe(1)
      expect(backlogSeries((await (scrape ?? metrics.render())).body)).toEqual(away)
      await expect.poll(waiting).toBe(0)
    } finally {
      await blocker.query('ROLLBACK')
      blocker.release()
    }
    await expect.poll(isUp).toBe(1)
  })
})
