import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { applyResults, takeResults } from '../../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../../src/delivery/orchestrator/make-jobs.js'
import { installStoppedClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { codeOf, outcomeOf } from '../../support/refusal.js'
import { defaultRetryPolicy } from '../../support/retry-policy.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()
const jobsTable = 'sagapost.webhook_delivery_jobs'
/** More than everything that a test makes. */
const ALL = 1000
let subscription: string

beforeAll(async () => {
  await installStoppedClock(database.pool)
  subscription = await insertSubscription(database.pool)
})

/** Whatever other tests have left is finished, so that each begins with nothing open. */
beforeEach(async () => {
  while ((await apply()).more);
  await moveClock(database.pool, '1 day')
  await leaseAll()
  await database.pool.query(`UPDATE ${jobsTable} SET status = 'Completed' WHERE status = 'Leased'`)
  while ((await apply()).more);
  expect(await queuedSizes()).toEqual([])
})

const apply = (batchMax = ALL, limit = defaultRetryPolicy.limit, except: readonly string[] = []) =>
  applyResults(database.as('saga_orchestrator'), {
    batchMax,
    policy: { ...defaultRetryPolicy, limit },
    window: wholeWindow,
    except,
  })

async function column<Value>(sql: string, values: unknown[] = []): Promise<Value[]> {
  const { rows } = await database.pool.query<{ value: Value }>(sql, values)
  return rows.map(({ value }) => value)
}

/** Makes the jobs of whatever is due, and leases all there are: their ids, oldest first. */
async function leaseAll(): Promise<string[]> {
  const range = { from: '0', to: '3000000' }
  await makeJobs(database.as('saga_orchestrator'), { range, batchMax: ALL, limit: defaultRetryPolicy.limit })
  return column(
    `WITH leased AS (
       UPDATE ${jobsTable} SET status = 'Leased', lease_token = gen_random_uuid() WHERE status = 'Pending' RETURNING id
     )
     SELECT id AS value FROM leased ORDER BY id`,
  )
}

/** Creates deliveries, each with its first job leased. Returns the ids of the jobs. */
async function startDeliveries(count: number): Promise<string[]> {
  const events = await column<string>(
    `INSERT INTO sagapost.events (event_type, payload) SELECT 'order.placed', '{}' FROM generate_series(1, $1)
     RETURNING id AS value`,
    [count],
  )
  await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT unnest($1::bigint[]), $2`,
    [events, subscription],
  )
  const jobs = await leaseAll()
  expect(jobs).toHaveLength(count)
  return jobs
}

/** All in one statement. */
const end = (jobs: string[], assignments = `status = 'Failed', error_code = 'http_500'`, table = jobsTable) =>
  database.pool.query(`UPDATE ${table} SET ${assignments} WHERE id = ANY ($1)`, [jobs])

const enqueue = (jobs: string[]) =>
  database.pool.query(
    `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
     SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id)
     FROM unnest($1::bigint[]) AS wanted (id) JOIN ${jobsTable} USING (id)`,
    [jobs],
  )

const queuedSizes = () =>
  column<number>('SELECT cardinality(job_ids) AS value FROM sagapost.delivery_result_queue ORDER BY id')
const queuedJobs = () =>
  column<string>('SELECT job_id AS value FROM sagapost.unapplied_results ORDER BY job_id')

/** Status, attempts and version of the job's delivery: the same text, the same row. */
const standing = async (job: string) =>
  (
    await column<string>(
      `SELECT saga.status || ' ' || attempt_count || ' ' || saga.xmin AS value
       FROM sagapost.webhook_delivery_sagas AS saga JOIN ${jobsTable} AS job ON job.saga_id = saga.id WHERE job.id = $1`,
      [job],
    )
  )[0] ?? ''

const idsOf = ({ results }: Awaited<ReturnType<typeof apply>>) => results.map(({ jobId }) => jobId).sort()

describe('the queue of results', () => {
  it('[S13, S17] results of one statement fill rows of at most 50, and each is counted', async () => {
    const jobs = await startDeliveries(120)
    await end(jobs)
    expect(await queuedSizes()).toEqual([50, 50, 20])
    expect(await queuedJobs()).toEqual(jobs)
    expect(idsOf(await apply())).toEqual([...jobs].sort())
    expect(await queuedSizes()).toEqual([])
  })

  it.each([
    ['through the table', jobsTable, 'Failed', 'PendingRetry'],
    ['through the table', jobsTable, 'Completed', 'Completed'],
    ['in its partition', `${jobsTable}_from_0`, 'Failed', 'PendingRetry'],
    ['in its partition', `${jobsTable}_from_0`, 'Completed', 'Completed'],
  ])(
    '[S13, S17, S18] a job that is ended by hand %s is applied: %s %s',
    async (_how, table, ended, moved) => {
      const jobs = await startDeliveries(1)
      await end(jobs, `status = '${ended}'`, table)
      expect((await apply()).results).toMatchObject([{ jobId: jobs[0], status: moved, attemptCount: 1 }])
    },
  )

  it('[J12, J8] gets no row for a claim or a released lease, not even beside a result', async () => {
    const [ended = '', ...free] = await startDeliveries(3)
    expect(await queuedSizes()).toEqual([])
    await end(
      [ended, ...free],
      `status = (CASE id WHEN ${ended} THEN 'Failed' ELSE 'Pending' END)::sagapost.job_status`,
    )
    expect(await queuedSizes()).toEqual([1])
    expect(await queuedJobs()).toEqual([ended])
  })

  it.each([
    ['through the table', jobsTable],
    ['in its partition', `${jobsTable}_from_0`],
  ])('[J12, S4] a job that has ended gets no second result, %s', async (_how, table) => {
    const jobs = await startDeliveries(2)
    await end(jobs.slice(0, 1), `status = 'Completed'`)
    await end(jobs.slice(1))
    for (const change of [
      ...['Pending', 'Leased', 'Completed', 'Failed'].map((status) => `status = '${status}'`),
      `error_code = 'other'`,
      'lease_until = lease_until',
    ]) {
      for (const job of jobs)
        expect([change, await codeOf(end([job], change, table))]).toEqual([change, 'row_is_final'])
    }
    expect(await queuedJobs()).toEqual(jobs)
  })
})

describe('applying what is queued', () => {
  it('[S4, S13] a result that is queued again is not counted twice, even while a later attempt is under way', async () => {
    const first = await startDeliveries(1)
    const [job = ''] = first
    await end(first)
    expect((await apply()).results).toMatchObject([{ attemptCount: 1 }])
    const again = async () => {
      const before = await standing(job)
      await enqueue(first)
      expect(await apply()).toMatchObject({ results: [] })
      expect(await standing(job)).toBe(before)
      expect(await queuedSizes()).toEqual([])
    }
    await again()
    await moveClock(database.pool, '1 hour')
    const second = await leaseAll()
    expect(await standing(job)).toMatch(/^InProgress 1 /)
    await again()
    await end(second, `status = 'Completed'`)
    await enqueue([...second, ...first, ...second])
    expect((await apply()).results).toMatchObject([
      { jobId: second[0], status: 'Completed', attemptCount: 2 },
    ])
    await again()
  })

  it('[S13, S17] a job that has not ended counts nothing, however it was queued', async () => {
    const jobs = await startDeliveries(1)
    await enqueue(jobs)
    expect((await apply()).results).toEqual([])
    expect(await standing(jobs[0] ?? '')).toMatch(/^InProgress 0 /)
    await end(jobs)
    expect((await apply()).results).toMatchObject([{ attemptCount: 1 }])
  })

  it('[S4, S17, D3] a row is removed with all its moves or not at all', async () => {
    const jobs = await startDeliveries(1)
    await end(jobs)
    await database.pool.query(
      `ALTER TABLE sagapost.dead_letters ADD CONSTRAINT out_of_order CHECK (job_id <> ${jobs[0]})`,
    )
    await expect(apply(ALL, 1)).rejects.toThrow('out_of_order')
    await database.pool.query('ALTER TABLE sagapost.dead_letters DROP CONSTRAINT out_of_order')
    expect(await queuedJobs()).toEqual(jobs)
    expect((await apply(ALL, 1)).results).toMatchObject([{ status: 'DeadLettered', attemptCount: 1 }])
    expect(await queuedSizes()).toEqual([])
  })

  it('[J11, S17] a dead letter names the last job of its delivery', async () => {
    const first = await startDeliveries(1)
    await end(first)
    await apply(ALL, 2)
    await moveClock(database.pool, '1 hour')
    const second = await leaseAll()
    await end(second)
    expect((await apply(ALL, 2)).results).toMatchObject([{ status: 'DeadLettered', attemptCount: 2 }])
    const letters = await column<string>(
      `SELECT letter.job_id AS value FROM sagapost.dead_letters AS letter JOIN ${jobsTable} AS job USING (saga_id)
       WHERE job.id = $1`,
      first,
    )
    expect(letters).toEqual(second)
  })

  it('[S13, S4] passes over rows that another orchestrator has locked, and takes the next', async () => {
    const [mine = '', others = ''] = await startDeliveries(2)
    await end([others])
    await end([mine])
    const other = await database.as('saga_orchestrator').connect()
    try {
      await other.query('BEGIN')
      expect((await other.query(takeResults, [1, []])).rows).toHaveLength(1)
      expect(idsOf(await withoutWaiting(database.pool, apply()))).toEqual([mine])
    } finally {
      other.release(true)
    }
    await expect.poll(async () => idsOf(await apply())).toEqual([others])
  })

  it('[S13, S4] concurrent orchestrators take different rows, and count every result once', async () => {
    const jobs = await startDeliveries(120)
    for (let from = 0; from < jobs.length; from += 6) await end(jobs.slice(from, from + 6))
    const drain = async () => {
      const ids: string[] = []
      for (;;) {
        const batch = await apply(12)
        ids.push(...idsOf(batch))
        if ((await queuedSizes()).length === 0) return ids
      }
    }
    const applied = (await Promise.all([drain(), drain(), drain()])).flat()
    expect(applied.sort()).toEqual([...jobs].sort())
    for (const job of jobs) expect(await standing(job)).toMatch(/^PendingRetry 1 /)
  })

  it('[S13] a mixture of single and full rows is cut to a batch, and nothing is lost', async () => {
    const jobs = await startDeliveries(103)
    const [a = '', b = '', c = '', ...rest] = jobs
    for (const statement of [[a], rest.slice(0, 50), [b], rest.slice(50), [c]]) await end(statement)
    expect(await queuedSizes()).toEqual([1, 50, 1, 50, 1])
    const batches = []
    do batches.push(await apply(60))
    while (batches.at(-1)?.more)
    // The oldest row says how many rows are taken: 60 single ones, or one that is full.
    expect(batches.map(({ results }) => results.length)).toEqual([52, 50, 1])
    expect(batches.flatMap(idsOf).sort()).toEqual([...jobs].sort())
    expect(await queuedSizes()).toEqual([])
  })

  it('[S13] a row that is left in the queue does not count towards the batch', async () => {
    const jobs = await startDeliveries(60)
    await end(jobs.slice(0, 50))
    const refused = await column<string>('SELECT id AS value FROM sagapost.delivery_result_queue')
    for (const job of jobs.slice(50)) await end([job])
    expect((await apply(8, undefined, refused)).results).toHaveLength(8)
  })

  it('[S17] a row that is not a list of jobs and their events cannot be written, whatever its base', async () => {
    const [job = ''] = await startDeliveries(1)
    const { rows } = await database.pool.query(`SELECT event_id FROM ${jobsTable} WHERE id = $1`, [job])
    const event = rows[0].event_id
    const write = (jobIds: string, eventIds: string) =>
      outcomeOf(
        database.pool.query(
          `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
           VALUES ($1, $2, $3, $3)`,
          [jobIds, eventIds, event],
        ),
      )
    for (const [jobIds, eventIds] of [
      ['{}', '{}'],
      [`{${job}}`, '{}'],
      [`{${job},NULL}`, `{${event},${event}}`],
      [`{${job}}`, '{NULL}'],
      [`{{${job}}}`, `{{${event}}}`],
    ] as const) {
      expect(await write(jobIds, eventIds)).toMatchObject({ constraint: 'delivery_result_queue_entries' })
    }
    await end([job])
    await database.pool.query('DELETE FROM sagapost.delivery_result_queue')
    expect(await write(`[0:0]={${job}}`, `[7:7]={${event}}`)).toBe('accepted')
    expect(idsOf(await apply())).toEqual([job])
  })

  it('[S13] a row that is larger than the batch is taken whole', async () => {
    await end(await startDeliveries(30))
    expect((await apply(10)).results).toHaveLength(30)
  })

  it('[S13, S21] results of events that lie far apart, the later one first, are counted in one batch', async () => {
    const [early = ''] = await startDeliveries(1)
    const [last] = await column<string>('SELECT last_value AS value FROM sagapost.events_id_seq')
    await database.pool.query(`SELECT setval('sagapost.events_id_seq', 1500000)`)
    const [late = ''] = await startDeliveries(1)
    await database.pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [last])
    await end([late])
    await end([early])
    expect(idsOf(await apply())).toEqual([early, late].sort())
  })
})

describe('results of several ranges', () => {
  it('[S18, S21] are applied range by range, also when one row has events of two', async () => {
    const jobs = await startDeliveries(6)
    const events = await column<string>(
      `SELECT event_id AS value FROM ${jobsTable} WHERE id = ANY ($1) ORDER BY id`,
      [jobs],
    )
    const border = events[3] as string
    const fresh = { from: border, to: '3000000' }
    const window = () => ({ fresh, older: [], borders: ['0', border, '3000000'] })
    for (const of of [[0], [4], [1], [5], [2, 3]]) await end(of.map((at) => jobs[at] as string))
    const applied: string[][] = []
    for (let more = true; more; ) {
      const batch = await applyResults(database.as('saga_orchestrator'), {
        batchMax: ALL,
        policy: defaultRetryPolicy,
        window,
      })
      applied.push(batch.results.map(({ jobId }) => jobId).sort((a, b) => Number(a) - Number(b)))
      more = batch.more
    }
    const ofJobs = (...places: number[]) => places.map((at) => jobs[at])
    expect(applied).toEqual([ofJobs(0, 1), ofJobs(4, 5), ofJobs(2, 3)])
  })
})
