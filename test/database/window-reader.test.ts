import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { rangeOf, type WorkWindow } from '../../src/database/index.js'
import { createWindowReader, groupByRange, visitInTurn } from '../../src/database/work-window.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery } from '../support/fixtures.js'

const database = useDatabase()
const WIDTH = 1_000
const RANGES = 45
const LAST_EVENT = RANGES * WIDTH - 500

const setNextId = (id: number) =>
  database.pool.query(`SELECT setval('sagapost.events_id_seq', $1, false)`, [id])
const waitAt = async (eventId: number) => {
  await setNextId(eventId)
  const delivery = await insertDelivery(database.pool, 'PendingRetry')
  await setNextId(LAST_EVENT)
  return delivery
}
const startsOf = ({ older }: WorkWindow) => older.map(({ from }) => from)

beforeAll(async () => {
  await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
  for (const table of ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']) {
    await database.pool.query(`ALTER TABLE sagapost.${table} DETACH PARTITION sagapost.${table}_from_0`)
    for (let from = 0; from <= RANGES * WIDTH; from += WIDTH) {
      if (from > 0) await makePartition(table, from)
    }
  }
  await setNextId(LAST_EVENT)
})

const makePartition = (table: string, from: number) =>
  database.pool.query('SELECT sagapost.make_partition($1, $2, $3)', [table, from, from + WIDTH])

/** Nothing is open that another test has left. */
beforeEach(async () => {
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE status = 'PendingRetry'`,
  )
})

describe('the window of work', () => {
  it('[S21, R1] includes every older range with open work from the start, however many ranges there are', async () => {
    for (const eventId of [2_100, 17_100, 33_100]) await waitAt(eventId)
    const read = createWindowReader(database.as('saga_orchestrator'))
    expect(startsOf(await read())).toEqual(['2000', '17000', '33000'])
  })

  it('[S21, R1] includes an older range whose work is open again after a few reads, and no read covers all ranges', async () => {
    const pool = database.as('saga_orchestrator')
    const read = createWindowReader(pool)
    await read()
    await waitAt(28_100)
    const queries = vi.spyOn(pool, 'query')
    for (let looks = 0; looks < 4; looks++) await read()
    expect(startsOf(await read())).toContain('28000')
    const lookedAt = queries.mock.calls.map(([, values]) => (values as unknown as string[][])[0]?.length ?? 0)
    expect(Math.max(...lookedAt)).toBeLessThanOrEqual(32)
    expect(Math.max(...lookedAt)).toBeGreaterThan(0)
    queries.mockRestore()
  })

  it('[S21] keeps a range while its last results may not be applied yet, and then drops it', async () => {
    await waitAt(2_200)
    const read = createWindowReader(database.as('saga_orchestrator'))
    expect(startsOf(await read())).toEqual(['2000'])
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE status = 'PendingRetry'`,
    )
    expect(startsOf(await read())).toEqual(['2000'])
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 31_000)
    expect(startsOf(await read())).toEqual([])
    clock.mockRestore()
  })

  it('[S21, J9] includes a range that leaves the fresh one with open work at the very next read', async () => {
    await waitAt(LAST_EVENT - 2 * WIDTH)
    await setNextId(LAST_EVENT - 2 * WIDTH + 1)
    const read = createWindowReader(database.as('saga_orchestrator'))
    const start = `${LAST_EVENT - 2 * WIDTH - 500}`
    const before = await read()
    expect([before.fresh.from, ...startsOf(before)]).not.toContain(start)
    await setNextId(LAST_EVENT)
    expect(startsOf(await read())).toContain(start)
  })

  it('[S21] assigns each event to its range', async () => {
    const window = await createWindowReader(database.as('saga_orchestrator'))()
    const { fresh } = window
    expect(rangeOf(window, String(LAST_EVENT))).toBe(fresh)
    expect(rangeOf(window, '2100')).toEqual({ from: '2000', to: '3000' })
    expect(rangeOf(window, '2000')).toEqual({ from: '2000', to: '3000' })
    // Before the first partition, and behind the last.
    expect(rangeOf(window, '7')).toEqual({ from: '7', to: '8' })
    expect(rangeOf(window, '99000000')).toEqual({ from: '99000000', to: '99000001' })
    const groups = groupByRange(window, [LAST_EVENT, 2_100, 2_200, 5_000].map(String), (id) => id)
    expect(groups.map(({ range, items }) => [range.from, items])).toEqual([
      [fresh.from, [String(LAST_EVENT)]],
      ['2000', ['2100', '2200']],
      ['5000', ['5000']],
    ])
  })
})

describe('visiting older ranges', () => {
  const ranges = (...starts: number[]) =>
    starts.map((from) => ({ from: String(from), to: String(from + 10) }))

  it('[R1] visits each in turn, even while ranges come and go', () => {
    const visit = visitInTurn(2)
    const starts = (older: ReturnType<typeof ranges>) => visit(older).map(({ from }) => Number(from))
    expect(starts(ranges(10, 20, 30, 40, 50))).toEqual([10, 20])
    expect(starts(ranges(10, 20, 30, 40, 50))).toEqual([30, 40])
    expect(starts(ranges(10, 20, 30, 40, 50))).toEqual([50, 10])
    expect(starts(ranges(20, 40, 50))).toEqual([20, 40])
    expect(starts(ranges(20, 30))).toEqual([20, 30])
    expect(starts([])).toEqual([])
    expect(starts(ranges(10))).toEqual([10])
  })
})
