import { beforeAll, describe, expect, it } from 'vitest'
import { selectDeliveriesOfSubscription } from '../../src/delivery/reading/list-deliveries-of-subscription.js'
import { selectInProgressDeliveries } from '../../src/delivery/reading/list-open-deliveries.js'
import { WALKED_MAX } from '../../src/delivery/reading/walk-deliveries.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead, explain } from '../support/explain.js'
import { narrowPartitions } from '../support/partitions.js'

const PARTITIONS = 4
const WIDTH = Number(process.env['SAGAPOST_PLAN_ROWS'] ?? 200_000) / PARTITIONS
/** What a page of 50 asks for. */
const PAGE = 51
/** Active jobs that a page looks through at first. */
const FEW = 1_000

/** The subscriptions that have deliveries, by what they have. */
const QUIET = 7
const BUSY = 101
const HANGING = 50
const SLOW = 51
const FAILING = 52
const NONE = 8

/**
 * The oldest half is done: of 20 large subscriptions, and a thousandth of QUIET. In the third quarter BUSY's are
 * done, and in between stand FAILING's, and SLOW's, which are under way. All of the newest quarter is HANGING's, and under way.
 */
const DONE_TO = 2 * WIDTH
const MIXED_TO = 3 * WIDTH
const NEWEST = 4 * WIDTH - 1
const SLOW_JOBS = WIDTH / 5
const FAILED = WIDTH / 5
const HANGING_JOBS = NEWEST - MIXED_TO

/** A page of each status that has an order, and a row in hand from every partition. */
const PAGES_MAX = 3 * (PAGE + PARTITIONS)

const database = useDatabase()
const readOnly = () => database.as('saga_readonly_role')

async function deliver(from: number, to: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id, status)
     SELECT id, id, subscription_id,
            (CASE WHEN subscription_id IN (${SLOW}, ${HANGING}) THEN 'InProgress' WHEN subscription_id <> ${FAILING} THEN 'Completed'
                  WHEN id % 2 = 0 THEN 'PendingRetry' ELSE 'DeadLettered' END)::sagapost.delivery_status
     FROM generate_series($1::int, $2::int) AS id, LATERAL (
       SELECT CASE WHEN id > ${MIXED_TO} THEN ${HANGING} WHEN id > ${DONE_TO} AND id % 5 = 0 THEN ${SLOW}
                   WHEN id > ${DONE_TO} AND id % 5 = 1 THEN ${FAILING} WHEN id > ${DONE_TO} THEN ${BUSY}
                   WHEN id % 1000 = 5 THEN ${QUIET} ELSE 100 + id % 20 END AS subscription_id) AS made`,
    [from, to],
  )
  await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id, status)
     SELECT id, id, event_id, subscription_id,
            (CASE WHEN status <> 'InProgress' THEN 'Completed' WHEN id % 200 = 0 THEN 'Leased' ELSE 'Pending' END)::sagapost.job_status
     FROM sagapost.webhook_delivery_sagas WHERE id BETWEEN $1 AND $2`,
    [from, to],
  )
}

/** Reads a page and says what it holds; the rows that it took to find them may be so many. */
async function readPage(
  subscriptionId: number,
  before: number | null,
  rowsMax: number,
  jobsMax = WALKED_MAX,
): Promise<number[]> {
  const values = [before, subscriptionId, PAGE, WALKED_MAX, jobsMax]
  const plan = await explain(readOnly(), selectDeliveriesOfSubscription, values, /^delivery_result_queue$/)
  expect(plan.scanned).toEqual([])
  expect(await countRowsRead(readOnly(), selectDeliveriesOfSubscription, values)).toBeLessThanOrEqual(rowsMax)
  const answer = await readOnly().query(selectDeliveriesOfSubscription, values)
  const rows = answer.rows.filter(({ id }) => id !== null)
  for (const row of rows) expect(row.subscription_id).toBe(String(subscriptionId))
  return rows.map(({ id }) => Number(id))
}

const newest = (count: number, after: number, wanted: (id: number) => boolean) => {
  const found: number[] = []
  for (let id = after - 1; id > 0 && found.length < count; id--) if (wanted(id)) found.push(id)
  return found
}
const isBusy = (id: number) => id > DONE_TO && id <= MIXED_TO && id % 5 > 1
const isFailing = (id: number) => id > DONE_TO && id <= MIXED_TO && id % 5 === 1
const isQuiet = (id: number) => id <= DONE_TO && id % 1000 === 5

beforeAll(async () => {
  await narrowPartitions(database, WIDTH, PARTITIONS)
  await deliver(1, DONE_TO)
  await database.pool.query('ANALYZE')
  await deliver(DONE_TO + 1, NEWEST)
})

/**
 * Where the planner knows of the backlog it walks the indexes in the order of the list. Where it does not, it may sort:
 * then a page costs what all subscriptions have of the status, and still nothing of all that is done.
 */
describe.each([
  { statistics: 'from before the backlog', isSorted: true },
  { statistics: 'of now', isSorted: false },
])('with statistics $statistics, a page of a subscription', ({ isSorted }) => {
  beforeAll(async () => {
    if (!isSorted) await database.pool.query('ANALYZE')
  })

  it('[S21] that has a large backlog of its own reads a page of it, with a cursor or without', async () => {
    // A job and its delivery; and in the partition before all of another's jobs, in search of one of its own.
    const rowsMax = 2 * (isSorted ? HANGING_JOBS : PAGE + PARTITIONS) + SLOW_JOBS
    const all = (id: number) => id > MIXED_TO
    expect(await readPage(HANGING, null, rowsMax, FEW)).toEqual(newest(PAGE, NEWEST + 1, all))
    const middle = NEWEST - 1000
    expect(await readPage(HANGING, middle, rowsMax, FEW)).toEqual(newest(PAGE, middle, all))
  })

  it('[S21] that has done much lately reads what others have under way since, and nothing older', async () => {
    // Every fifth in between is another's job.
    const rowsMax = PAGES_MAX + PAGE
    expect(await readPage(BUSY, MIXED_TO, rowsMax)).toEqual(newest(PAGE, MIXED_TO, isBusy))
    const middle = DONE_TO + WIDTH / 2
    expect(await readPage(BUSY, middle, rowsMax)).toEqual(newest(PAGE, middle, isBusy))
    expect(await readPage(BUSY, null, rowsMax + HANGING_JOBS)).toEqual(newest(PAGE, MIXED_TO + 1, isBusy))
  })

  it('[S21] whose newest ones failed reads what others have under way since, and nothing older', async () => {
    // Every fifth failed, and every fifth is another's job.
    const rowsMax = (isSorted ? FAILED : PAGES_MAX) + PAGE
    expect(await readPage(FAILING, MIXED_TO, rowsMax)).toEqual(newest(PAGE, MIXED_TO, isFailing))
  })

  it('[S21] that is quiet reads every job that is under way once, and none behind a cursor before them', async () => {
    const page = newest(PAGE, DONE_TO, isQuiet)
    expect(await readPage(QUIET, null, PAGES_MAX + HANGING_JOBS + SLOW_JOBS)).toEqual(page)
    expect(await readPage(QUIET, DONE_TO, PAGES_MAX)).toEqual(page)
    const last = newest(PAGE, 10_000, isQuiet)
    expect(last).toHaveLength(10)
    expect(await readPage(QUIET, 10_000, PAGES_MAX)).toEqual(last)
  })

  it('[S21] that has none reads every job that is under way once', async () => {
    expect(await readPage(NONE, null, HANGING_JOBS + SLOW_JOBS)).toEqual([])
  })

  it('[S21] is found by the index of each status', async () => {
    const plan = await explain(readOnly(), selectDeliveriesOfSubscription, [
      null,
      BUSY,
      PAGE,
      WALKED_MAX,
      WALKED_MAX,
    ])
    expect(plan.indexes).toEqual(
      expect.arrayContaining([
        'idx_saga_failing_subscription',
        'idx_saga_status',
        'idx_saga_subscription',
        'uniq_job_saga_active',
        'webhook_delivery_sagas_pkey',
      ]),
    )
  })
})

describe('while results wait to be applied', () => {
  const RESULTS = 10_000
  const RESULTS_PER_ROW = 50

  beforeAll(async () => {
    await database.pool.query(
      `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
       SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id)
       FROM (SELECT id, event_id FROM sagapost.webhook_delivery_jobs
             WHERE subscription_id = ${BUSY} AND id > ${DONE_TO} LIMIT ${RESULTS}) AS finished
       GROUP BY id / ${RESULTS_PER_ROW}`,
    )
    await database.pool.query('ANALYZE')
  })

  it.each([
    ['a subscription', selectDeliveriesOfSubscription],
    ['a subscription, InProgress', selectInProgressDeliveries],
  ])('[S21] a page of %s reads a job for each of them, and none of the finished ones', async (_, sql) => {
    for (const values of [
      [null, QUIET, PAGE, WALKED_MAX, WALKED_MAX],
      [DONE_TO, QUIET, PAGE, WALKED_MAX, WALKED_MAX],
      [null, NONE, PAGE, WALKED_MAX, WALKED_MAX],
    ]) {
      const underWay = values[0] === null ? HANGING_JOBS + SLOW_JOBS : 0
      const rowsMax = PAGES_MAX + underWay + RESULTS + RESULTS
      expect(await countRowsRead(readOnly(), sql, values)).toBeLessThanOrEqual(rowsMax)
    }
  })
})
