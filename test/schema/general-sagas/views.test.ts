import { beforeAll, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { outcomeOf } from '../../support/refusal.js'
import { allowAnyBeginning, insertSaga } from './fixtures.js'

const database = useDatabase()

const error = { code: 'E', message: 'm' }
const at = (hour: number) => `2025-03-01T${String(hour).padStart(2, '0')}:00:00.000Z`

/** One saga per state, its number as its id; those created later were updated and completed earlier. */
beforeAll(async () => {
  await allowAnyBeginning(database.pool)
  for (let state = 0; state <= 8; state++) {
    await insertSaga(database.pool, {
      id: String(state),
      definition_id: state < 8 ? 'checkout' : 'refund',
      name: `saga ${state}`,
      state,
      current_step: 1,
      total_steps: 2,
      created_at: at(state),
      updated_at: at(20 - state),
      started_at: state === 0 ? null : at(state),
      completed_at: state === 3 || state === 5 ? at(state + (state === 3 ? 1 : 2)) : null,
      error: state === 6 ? error : null,
      result_data: state === 3 ? { total: 7 } : null,
      metadata: { tenant: 'a' },
      trace_id: `trace-${state}`,
    })
  }
  await insertSaga(database.pool, {
    id: 'later',
    state: 3,
    created_at: at(0),
    started_at: at(0),
    completed_at: at(10),
    updated_at: at(10),
  })
})

async function read(view: string): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query(`SELECT * FROM sagapost.${view}`)
  return rows
}

it('[G7] active_sagas shows states 1, 2 and 4, the newest first', async () => {
  const rows = await read('active_sagas')
  expect(rows.map(({ id }) => id)).toEqual(['4', '2', '1'])
  expect(rows[0]).toEqual({
    id: '4',
    definition_id: 'checkout',
    name: 'saga 4',
    state: 4,
    current_step: 1,
    total_steps: 2,
    created_at: new Date(at(4)),
    updated_at: new Date(at(16)),
    started_at: new Date(at(4)),
    trace_id: 'trace-4',
    metadata: { tenant: 'a' },
  })
})

it('[G7] failed_sagas shows states 6, 7 and 8, the last updated first', async () => {
  const rows = await read('failed_sagas')
  expect(rows.map(({ id }) => id)).toEqual(['6', '7', '8'])
  expect(rows[0]).toEqual({
    id: '6',
    definition_id: 'checkout',
    name: 'saga 6',
    state: 6,
    current_step: 1,
    total_steps: 2,
    created_at: new Date(at(6)),
    updated_at: new Date(at(14)),
    completed_at: null,
    error,
    trace_id: 'trace-6',
  })
})

it('[G7] completed_sagas shows state 3, the last completed first', async () => {
  const rows = await read('completed_sagas')
  expect(rows.map(({ id }) => id)).toEqual(['later', '3'])
  expect(rows[1]).toEqual({
    id: '3',
    definition_id: 'checkout',
    name: 'saga 3',
    current_step: 1,
    total_steps: 2,
    created_at: new Date(at(3)),
    started_at: new Date(at(3)),
    completed_at: new Date(at(4)),
    result_data: { total: 7 },
    trace_id: 'trace-3',
  })
})

it('[G7] saga_statistics counts the sagas of each definition', async () => {
  const rows = await read('saga_statistics')
  expect(rows.sort((a, b) => String(a.definition_id).localeCompare(String(b.definition_id)))).toEqual([
    {
      definition_id: 'checkout',
      total_instances: '9',
      completed_count: '2',
      failed_count: '2',
      active_count: '3',
      // 1 h, 2 h and 10 h; sagas that lack either time are left out
      avg_duration_seconds: expect.stringMatching(/^15600\.0*$/),
      last_execution: new Date(at(20)),
    },
    {
      definition_id: 'refund',
      total_instances: '1',
      completed_count: '0',
      failed_count: '1',
      active_count: '0',
      avg_duration_seconds: null,
      last_execution: new Date(at(12)),
    },
  ])
})

it.each(['active_sagas', 'failed_sagas', 'completed_sagas', 'saga_statistics'])(
  '[G7] [G12] %s grants no rights that the reader lacks on the table',
  async (view) => {
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`CREATE ROLE view_reader_${process.pid}`)
      await client.query(`GRANT USAGE ON SCHEMA sagapost TO view_reader_${process.pid}`)
      await client.query(`GRANT SELECT ON sagapost.${view} TO view_reader_${process.pid}`)
      await client.query(`SET LOCAL ROLE view_reader_${process.pid}`)
      expect(await outcomeOf(client.query(`SELECT * FROM sagapost.${view}`))).toMatchObject({
        sqlState: '42501',
      })
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  },
)
