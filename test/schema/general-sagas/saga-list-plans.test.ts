import { beforeAll, expect, it } from 'vitest'
import { readBacklog } from '../../../src/observability/backlog/backlog-collector.js'
import {
  pageSagas,
  selectFewSagas,
  selectWalkEnd,
  walkSagas,
} from '../../../src/sagas/storage/postgres/page-sagas.js'
import {
  selectShownEvents,
  selectShownSaga,
  selectShownSteps,
} from '../../../src/sagas/storage/postgres/show-saga.js'
import { useDatabase } from '../../support/database.js'
import { countRowsRead, explain } from '../../support/explain.js'
import { loadSagas } from './load-sagas.js'

const INSTANCES = 60_000
const PAGE = 51
const FEW = 1_001
const WALKED = 10_000

const database = useDatabase()
const readOnly = () => database.as('saga_readonly_role')

/** 40 definitions of 1,500 sagas; `old` has the 5,000 oldest, `rare` twenty of the oldest. */
beforeAll(async () => {
  const { pool } = database
  await loadSagas(pool, {
    instances: INSTANCES,
    definitions: 40,
    stepsPerSaga: 2,
    eventsPerSaga: 4,
    ids: 'random',
  })
  const client = await pool.connect()
  try {
    await client.query('SET session_replication_role = replica')
    await client.query('ALTER TABLE sagapost.saga_instances DISABLE TRIGGER USER')
    await client.query(
      `UPDATE sagapost.saga_instances AS saga SET definition_id = CASE WHEN place <= 20 THEN 'rare' ELSE 'old' END
       FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS place FROM sagapost.saga_instances) AS oldest
       WHERE saga.id = oldest.id AND place <= 5000`,
    )
    await client.query('VACUUM ANALYZE sagapost.saga_instances')
  } finally {
    client.release()
  }
})

/** Values: cursor, its id, trace, operator, definition, state. */
type Filters = [
  traceId: string | null,
  operator: true | null,
  definition: string | null,
  state: number | null,
]

async function expectBounded(sql: string, values: unknown[], index: string, rowsMax: number): Promise<void> {
  const plan = await explain(readOnly(), sql, values)
  expect(plan.scanned).toEqual([])
  expect(plan.indexes).toContain(index)
  expect(await countRowsRead(readOnly(), sql, values)).toBeLessThanOrEqual(rowsMax)
}

async function middle(): Promise<[atUs: string, id: string]> {
  const { rows } = await database.pool.query(
    `SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS at_us, id FROM sagapost.saga_instances
     ORDER BY created_at DESC OFFSET $1 LIMIT 1`,
    [INSTANCES / 2],
  )
  return [rows[0].at_us, rows[0].id]
}

it.each<[string, Filters, string]>([
  ['everything', [null, null, null, null], 'idx_saga_created_at'],
  ['Completed', [null, null, null, 3], 'idx_saga_state_created'],
  ['Failed', [null, null, null, 6], 'idx_saga_state_created'],
  ['Running', [null, null, null, 1], 'idx_saga_state_created'],
])(
  '[G10] a page of sagas (%s) reads no more than itself, with a cursor or without',
  async (_, filters, index) => {
    await expectBounded(walkSagas, [null, null, ...filters, PAGE, PAGE], index, 2 * PAGE)
    await expectBounded(walkSagas, [...(await middle()), ...filters, PAGE, PAGE], index, 2 * PAGE)
  },
)

it.each<[string, Filters, string[]]>([
  ['a trace', ['x', null, null, null], ['idx_saga_trace_id']],
  ['who waits for an operator', [null, true, null, null], ['idx_saga_awaiting_operator']],
  ['a rare definition', [null, null, 'rare', null], ['idx_saga_definition_id', 'idx_saga_definition_state']],
  [
    'a common definition',
    [null, null, 'definition-7', null],
    ['idx_saga_definition_id', 'idx_saga_definition_state'],
  ],
  [
    'one that is not there',
    [null, null, 'none', null],
    ['idx_saga_definition_id', 'idx_saga_definition_state'],
  ],
  ['a definition, Failed', [null, null, 'definition-4', 6], ['idx_saga_definition_state']],
  ['a definition, Completed', [null, null, 'old', 3], ['idx_saga_definition_state']],
])('[G10, G17] when few match (%s), only they are read', async (_, filters, indexes) => {
  for (const cursor of [[null, null], await middle()]) {
    const values = [...cursor, ...filters, PAGE, FEW]
    const plan = await explain(readOnly(), selectFewSagas, values)
    expect(plan.scanned).toEqual([])
    expect(plan.indexes.some((index) => indexes.includes(index))).toBe(true)
    // Of a few more than it takes, the planner rather reads all at once, page by page of the table.
    expect(await countRowsRead(readOnly(), selectFewSagas, values)).toBeLessThanOrEqual(2 * FEW)
  }
})

it('[G10] when many match, a walk from the newest ends with the page, or with its bound', async () => {
  const common: Filters = [null, null, 'definition-7', null]
  await expectBounded(
    walkSagas,
    [null, null, ...common, PAGE, WALKED],
    'idx_saga_created_at',
    40 * PAGE + 200,
  )
  const old: Filters = [null, null, 'old', null]
  await expectBounded(walkSagas, [null, null, ...old, PAGE, WALKED], 'idx_saga_created_at', WALKED + 1)
  await expectBounded(
    walkSagas,
    [null, null, null, null, 'old', 3, PAGE, WALKED],
    'idx_saga_state_created',
    WALKED + 1,
  )
  await expectBounded(selectWalkEnd, [null, null, null, WALKED], 'idx_saga_created_at', WALKED + 1)
  await expectBounded(selectWalkEnd, [null, null, 3, WALKED], 'idx_saga_state_created', WALKED + 1)
})

it.each([undefined, 'Completed'] as const)(
  '[G10] pages of many old sagas (%s) go on with their cursors, and miss and repeat none',
  async (state) => {
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null | undefined; cursor !== null; pages++) {
      const filter = { definition: 'old', limit: 200, ...(state && { state }), ...(cursor && { cursor }) }
      const page = await pageSagas(readOnly(), filter, { fewMax: 500, walkedMax: 5_000 })
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    const { rows } = await database.pool.query(
      `SELECT id FROM sagapost.saga_instances WHERE definition_id = 'old' AND ($1 OR state = 3)
       ORDER BY created_at DESC, id DESC`,
      [state === undefined],
    )
    expect(seen).toEqual(rows.map(({ id }) => id))
    expect(pages).toBeLessThan(60)
  },
)

it('[G10] one saga reads an index in each of its tables', async () => {
  const { rows } = await database.pool.query('SELECT id FROM sagapost.saga_instances LIMIT 1')
  await expectBounded(selectShownSaga, [rows[0].id], 'saga_instances_pkey', 1)
  await expectBounded(selectShownSteps, [rows[0].id], 'idx_step_saga_index', 2)
  await expectBounded(selectShownEvents, [rows[0].id, 1_000], 'idx_event_saga_timestamp', 4)
})

it('[G10, O5] the backlog of sagas is counted by the index of the active ones, at every scrape', async () => {
  const plan = await explain(readOnly(), readBacklog, [100_000])
  expect(plan.scanned).not.toContain('saga_instances')
  expect(plan.indexes).toEqual(expect.arrayContaining(['idx_saga_runnable', 'idx_saga_awaiting_operator']))
})
