import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { listDeliveries } from '../../src/delivery/index.js'
import type { DeliveryFilter } from '../../src/delivery/reading/list-deliveries.js'
import { WALKED_MAX } from '../../src/delivery/reading/walk-deliveries.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead } from '../support/explain.js'
import { narrowPartitions } from '../support/partitions.js'

const PARTITIONS = 3
const WIDTH = 50_000
const ROWS = PARTITIONS * WIDTH - 1
/** The oldest are done, every hundredth of them for QUIET; all others failed, for FAILING. */
const DONE_TO = 1_000
const QUIET = 7
const FAILING = 50
const PAGE = 200

/** A low limit where a backlog beyond the real one would take long to write. */
const LOW = 2_000
const BACKLOG = { from: 60_000, to: 84_000 }

const database = useDatabase()

beforeAll(async () => {
  await narrowPartitions(database, WIDTH, PARTITIONS)
  await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (id, event_id, subscription_id, status, final_error_code)
     SELECT id, id, CASE WHEN id > $2 THEN ${FAILING} WHEN id % 100 = 0 THEN ${QUIET} ELSE 100 END,
            (CASE WHEN id > $2 THEN 'PendingRetry' ELSE 'Completed' END)::sagapost.delivery_status,
            CASE WHEN id > $2 THEN 'timeout' END
     FROM generate_series(1, $1::bigint) AS id`,
    [ROWS, DONE_TO],
  )
  await database.pool.query('ANALYZE')
})

/** The pool of the readers, which counts the rows that each statement reads before it is run. */
function countingPool(): { pool: pg.Pool; takeRead: () => number } {
  const real = database.as('saga_readonly_role')
  let read = 0
  const query = async (sql: string, values: unknown[]) => {
    read += await countRowsRead(real, sql, values)
    return real.query(sql, values)
  }
  const takeRead = () => {
    const taken = read
    read = 0
    return taken
  }
  return { pool: Object.assign(Object.create(real), { query }), takeRead }
}

/** Follows the cursors to the end. No page may read more rows than the limit. */
async function walk(
  filter: DeliveryFilter,
  walkedMax: number,
  rowsMax: number,
): Promise<{ ids: number[]; pages: number; emptyPages: number }> {
  const { pool, takeRead } = countingPool()
  const found = { ids: [] as number[], pages: 0, emptyPages: 0 }
  let cursor: string | undefined
  do {
    const page = await listDeliveries(pool, { ...filter, cursor, limit: PAGE }, walkedMax)
    expect(takeRead()).toBeLessThanOrEqual(rowsMax)
    found.ids.push(...page.data.map(({ id }) => Number(id)))
    found.pages += 1
    if (page.data.length === 0) found.emptyPages += 1
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return found
}

const newestFirst = (from: number, to: number, wanted = (_: number) => true) =>
  Array.from({ length: to - from + 1 }, (_, index) => to - index).filter(wanted)

/** The page, a row in hand from every partition, and the webhook ids of its events. */
const PAGE_ROWS = 2 * (PAGE + 1) + PARTITIONS

it('[S21] a page of Completed ends after a bounded number of deliveries, and the next one continues there', async () => {
  const rowsMax = WALKED_MAX + PAGE_ROWS
  const found = await walk({ status: 'Completed' }, WALKED_MAX, rowsMax)
  expect(found.ids).toEqual(newestFirst(1, DONE_TO))
  expect(found.emptyPages).toBe(Math.floor((ROWS - DONE_TO) / WALKED_MAX))
})

describe('while more are Pending than a page may read', () => {
  beforeAll(async () => {
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'Pending'
       WHERE id BETWEEN $1 AND $2 OR subscription_id = ${QUIET}`,
      [BACKLOG.from, BACKLOG.to],
    )
  })

  /** Those that are Pending, and the newest deliveries. */
  const rowsMax = 2 * LOW + PAGE_ROWS

  it('[S21] a page of Pending ends after a bounded number of deliveries, and the next one continues there', async () => {
    const found = await walk({ status: 'Pending' }, LOW, rowsMax)
    expect(found.ids).toEqual([
      ...newestFirst(BACKLOG.from, BACKLOG.to),
      ...newestFirst(1, DONE_TO, (id) => id % 100 === 0),
    ])
    expect(found.emptyPages).toBeGreaterThan(0)
  })

  it('[S21] so does a page of one subscription, with the status or without', async () => {
    const quiet = newestFirst(1, DONE_TO, (id) => id % 100 === 0)
    // Of the three statuses with an index in the order of the list a page each.
    const ownRows = 3 * (PAGE_ROWS + PARTITIONS)
    for (const filter of [{ status: 'Pending' } as const, {}]) {
      expect((await walk({ ...filter, subscriptionId: String(QUIET) }, LOW, rowsMax + ownRows)).ids).toEqual(
        quiet,
      )
    }
  })

  it('[S21] as many as a page may read are found at once', async () => {
    const enough = 25_000
    const found = await walk({ status: 'Pending', subscriptionId: String(QUIET) }, enough, enough + PAGE_ROWS)
    expect(found).toMatchObject({ ids: newestFirst(1, DONE_TO, (id) => id % 100 === 0), pages: 1 })
  })
})

describe('while more are InProgress than a page may read', () => {
  beforeAll(async () => {
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress'
       WHERE id BETWEEN $1 AND $2 OR subscription_id = ${QUIET}`,
      [BACKLOG.from, BACKLOG.to],
    )
    await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_jobs (id, saga_id, event_id, subscription_id, status)
       SELECT id, id, event_id, subscription_id,
              (CASE status WHEN 'InProgress' THEN 'Pending' WHEN 'Completed' THEN 'Completed' ELSE 'Failed' END)::sagapost.job_status
       FROM sagapost.webhook_delivery_sagas`,
    )
    await database.pool.query('ANALYZE')
  })

  const quiet = newestFirst(1, DONE_TO, (id) => id % 100 === 0)
  const all = [...newestFirst(BACKLOG.from, BACKLOG.to), ...quiet]

  it('[S21] a page ends after a bounded number of active jobs, and the next one continues there', async () => {
    // A few jobs, then more, each with its delivery.
    const rowsMax = 1_000 + LOW + 3 * PAGE_ROWS
    expect((await walk({ status: 'InProgress' }, LOW, rowsMax)).ids).toEqual(all)
    for (const filter of [{ status: 'InProgress' } as const, {}]) {
      const found = await walk({ ...filter, subscriptionId: String(QUIET) }, LOW, rowsMax + 3 * PAGE_ROWS)
      expect(found.ids).toEqual(quiet)
      expect(found.emptyPages).toBeGreaterThan(0)
    }
  })

  it('[S21] a page reads a bounded number of waiting results, and otherwise goes by the newest deliveries', async () => {
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Failed' WHERE status = 'Pending'`,
    )
    await database.pool.query(
      `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
       SELECT array_agg(job.id), array_agg(job.event_id), min(job.event_id), max(job.event_id)
       FROM sagapost.webhook_delivery_jobs AS job JOIN sagapost.webhook_delivery_sagas AS saga ON saga.id = job.saga_id
       WHERE saga.status = 'InProgress' GROUP BY job.id / 50`,
    )
    await database.pool.query('ANALYZE')
    // Results are read in rows of 50, and are no rows of a table themselves.
    const rowsMax = LOW / 40 + LOW + 2 * PAGE_ROWS
    expect((await walk({ status: 'InProgress' }, LOW, rowsMax)).ids).toEqual(all)
    for (const filter of [{ status: 'InProgress' } as const, {}]) {
      const found = await walk({ ...filter, subscriptionId: String(QUIET) }, LOW, rowsMax + 3 * PAGE_ROWS)
      expect(found.ids).toEqual(quiet)
    }
  })
})
