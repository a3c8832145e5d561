import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import type { DatabaseRole, EventRange, WorkWindow } from '../../src/database/index.js'
import { recallAnswers } from '../../src/delivery/breakers/recall-answers.js'
import { resetLeases } from '../../src/delivery/cleaner/reset-leases.js'
import { applyResults } from '../../src/delivery/orchestrator/apply-results.js'
import { endStopped } from '../../src/delivery/orchestrator/end-stopped.js'
import { workDueInMs } from '../../src/delivery/orchestrator/look-ahead.js'
import { makeJobs, makePassingJobs } from '../../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import { claimJobs } from '../../src/delivery/worker/claim-jobs.js'
import { findProbes } from '../../src/delivery/worker/find-probes.js'
import { findReported } from '../../src/delivery/worker/find-reported.js'
import { findWaiting } from '../../src/delivery/worker/find-waiting.js'
import { createLargePayloads } from '../../src/delivery/worker/large-payloads.js'
import { putAside } from '../../src/delivery/worker/put-aside.js'
import { forgetSwitches } from '../../src/delivery/worker/read-switches.js'
import { releaseClaims } from '../../src/delivery/worker/release-claims.js'
import { releaseJobs } from '../../src/delivery/worker/release-jobs.js'
import { reportResults } from '../../src/delivery/worker/report-results.js'
import { letGoHeldJobs, stopCancelledJobs, stopFreeJobs } from '../../src/delivery/worker/take-stopped.js'
import { countLocks } from '../support/count-locks.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertEvent, insertSubscription } from '../support/fixtures.js'
import { readWorkWindow } from '../support/read-work-window.js'
import { defaultRetryPolicy } from '../support/retry-policy.js'

const database = useDatabase()
const WIDTH = 1_000
let subscriptionId: string
const FEW_RANGES = 30
const MANY_RANGES = 70
/** A batch of deliveries in one of the older ranges, for each time that they are worked off. */
const BATCH = 5

async function addRanges(count: number): Promise<void> {
  const { rows } = await database.pool.query(
    `SELECT max(to_id) AS end FROM sagapost.partitions WHERE table_name = 'events'`,
  )
  for (let n = 0; n < count; n++) {
    const from = Number(rows[0].end) + n * WIDTH
    for (const table of ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']) {
      await database.pool.query('SELECT sagapost.make_partition($1, $2, $3)', [table, from, from + WIDTH])
    }
  }
  const end = Number(rows[0].end) + count * WIDTH
  await database.pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [end - 2 * WIDTH])
}

type Work = (pool: pg.Pool, window: WorkWindow, range: EventRange) => Promise<unknown>
const TOKEN = '00000000-0000-4000-8000-000000000000'
const nobody = { leaseMs: 60_000, workerId: 'worker' }
const report = (job: { id: string; eventId: string; leaseToken: string }) => ({
  jobId: job.id,
  eventId: job.eventId,
  leaseToken: job.leaseToken,
  errorCode: 'http_500',
  responseStatus: 500,
  retryAfterS: null,
  durationMs: 1,
  responseExcerpt: null,
})

/** The whole way of a batch of deliveries, each step by its part's role: it needs work, or triggers lock nothing. */
const way: [string, DatabaseRole, Work][] = [
  [
    'making jobs',
    'saga_orchestrator',
    async (pool, _, range) => {
      const made = await makeJobs(pool, { range, batchMax: 100, limit: 1 })
      expect(made.first).toBe(BATCH)
      expect(await makePassingJobs(pool, { range, batchMax: 100, pastSaga: '0' })).toMatchObject({ made: 0 })
    },
  ],
  [
    'claiming, giving back and reporting',
    'job_worker',
    async (pool, window, range) => {
      const claim = { range, batchMax: 100, ...nobody, except: [] }
      const held = (await claimJobs(pool, claim)).jobs
      expect(held).toHaveLength(BATCH)
      await releaseJobs(pool, held, () => window)
      const { jobs } = await claimJobs(pool, claim)
      expect((await reportResults(pool, range, jobs.map(report))).size).toBe(BATCH)
      expect((await findReported(pool, range, jobs.map(report))).size).toBe(BATCH)
      const payloads = createLargePayloads(pool, () => window)
      expect(await payloads.with(jobs[0]?.eventId as string, async (payload) => payload)).toContain('order')
    },
  ],
  [
    'applying results',
    'saga_orchestrator',
    async (pool, window) => {
      const policy = { ...defaultRetryPolicy, limit: 1 }
      const { results } = await applyResults(pool, { batchMax: 100, policy, window: () => window })
      expect(results.map(({ status }) => status)).toEqual(Array(BATCH).fill('DeadLettered'))
    },
  ],
]

const looks: [string, DatabaseRole, Work][] = [
  [
    'routing',
    'router_worker',
    async (pool) => {
      await database.pool.query('SELECT sagapost.queue_events($1)', [[await insertEvent(database.pool)]])
      expect((await routeEvents(pool, createSubscriptionCache(), 9)).deliveries).toBeGreaterThan(0)
    },
  ],
  ['looking ahead', 'saga_orchestrator', (pool, _, range) => workDueInMs(pool, range)],
  [
    'ending what was stopped',
    'saga_orchestrator',
    (pool, _, range) => endStopped(pool, { range, batchMax: 9 }),
  ],
  ['finding who waits', 'job_worker', (pool, _, range) => findWaiting(pool, range, undefined)],
  ['finding probes', 'job_worker', (pool, _, range) => findProbes(pool, range, [subscriptionId])],
  ['recalling answers', 'job_worker', (pool, window) => recallAnswers(pool, window, [subscriptionId])],
  ['giving back lost claims', 'job_worker', (pool, _, range) => releaseClaims(pool, range, [TOKEN])],
  [
    'putting aside',
    'job_worker',
    (pool, window) => {
      const job = {
        id: '1',
        deliveryId: '1',
        eventId: '1',
        subscriptionId: '1',
        leaseToken: TOKEN,
        stop: null,
      }
      return putAside(pool, [job], () => window)
    },
  ],
  [
    'resetting leases',
    'job_worker',
    (pool, _, range) => resetLeases(pool, { range, batchMax: 9, lostLeasesMax: 3 }),
  ],
  [
    'stopping',
    'job_worker',
    async (pool, _, range) => {
      const taking = { range, batchMax: 9, ...nobody }
      await stopFreeJobs(pool, taking, [subscriptionId], undefined)
      await letGoHeldJobs(pool, taking, [subscriptionId])
      await stopCancelledJobs(pool, taking)
    },
  ],
  ['forgetting switches', 'job_worker', (pool, window) => forgetSwitches(pool, window, [subscriptionId])],
  ['reading the window', 'job_worker', readWorkWindow],
]

async function measure(): Promise<Record<string, number>> {
  const { pool } = database
  subscriptionId = await insertSubscription(pool)
  for (let n = 0; n < BATCH; n++) await insertDelivery(pool, 'Pending', subscriptionId)
  await pool.query(
    `INSERT INTO sagapost.subscription_switches VALUES ($1, sagapost.now() - interval '5 minutes')
     ON CONFLICT DO NOTHING`,
    [subscriptionId],
  )
  const locks: Record<string, number> = {}
  for (const [name, role, work] of [...way, ...looks]) {
    const counted = countLocks(database.url, role, { pinnedPlans: true })
    const window = await readWorkWindow(database.as('job_worker'))
    await work(counted.pool, window, window.fresh).finally(counted.end)
    locks[name] = counted.most()
  }
  return locks
}

describe('with hundreds of partitions', () => {
  let few: Record<string, number>

  beforeAll(async () => {
    await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
    await database.pool.query('ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing')
    await addRanges(FEW_RANGES)
    few = await measure()
  })

  it('[S21, J9] no statement of a part locks more partitions when there are more of them', async () => {
    await addRanges(MANY_RANGES - FEW_RANGES)
    expect(await measure()).toEqual(few)
    expect(Math.max(...Object.values(few))).toBeLessThan(1000)
  })
})
