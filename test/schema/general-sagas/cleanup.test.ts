import type pg from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import {
  allowAnyBeginning,
  countRows,
  inRolledBackTransaction,
  insertSaga,
  insertSagaEvent,
  insertStep,
} from './fixtures.js'

const database = useDatabase()

beforeAll(() => allowAnyBeginning(database.pool))

const CUTOFF = '2025-06-01T00:00:00Z'
const BEFORE = '2025-05-31T23:59:59.999999Z'

async function cleanUp(client: pg.Pool | pg.PoolClient, olderThan: string | null = CUTOFF): Promise<number> {
  const { rows } = await client.query('SELECT sagapost.cleanup_expired_sagas($1) AS removed', [olderThan])
  return rows[0].removed
}

async function remains(client: pg.PoolClient, id: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM sagapost.saga_instances WHERE id = $1', [id])
  return rows.length === 1
}

it.each([3, 5, 6, 7, 8])('[G8] removes a saga in state %i', async (state) => {
  await inRolledBackTransaction(database.pool, async (client) => {
    const id = await insertSaga(client, { state, updated_at: BEFORE })
    expect(await cleanUp(client)).toBe(1)
    expect(await remains(client, id)).toBe(false)
  })
})

it.each([0, 1, 2, 4])('[G8] keeps a saga in state %i, however old', async (state) => {
  await inRolledBackTransaction(database.pool, async (client) => {
    const id = await insertSaga(client, { state, updated_at: '1999-01-01T00:00:00Z' })
    expect(await cleanUp(client)).toBe(0)
    expect(await remains(client, id)).toBe(true)
  })
})

it('[G8] goes by the last update, not by the creation', async () => {
  await inRolledBackTransaction(database.pool, async (client) => {
    const long = await insertSaga(client, {
      state: 3,
      created_at: '1999-01-01T00:00:00Z',
      updated_at: CUTOFF,
    })
    expect(await cleanUp(client)).toBe(0)
    expect(await remains(client, long)).toBe(true)
  })
})

it('[G8] keeps a saga updated exactly at the limit, and removes it a microsecond later', async () => {
  await inRolledBackTransaction(database.pool, async (client) => {
    await insertSaga(client, { state: 3, updated_at: CUTOFF })
    expect(await cleanUp(client)).toBe(0)
    expect(await cleanUp(client, '2025-06-01T00:00:00.000001Z')).toBe(1)
  })
})

it('[G8] keeps a Failed saga that awaits an operator until it is resolved', async () => {
  await inRolledBackTransaction(database.pool, async (client) => {
    const id = await insertSaga(client, { state: 6, updated_at: BEFORE, awaiting_operator: true })
    expect(await cleanUp(client)).toBe(0)
    expect(await remains(client, id)).toBe(true)
    await client.query('UPDATE sagapost.saga_instances SET awaiting_operator = false WHERE id = $1', [id])
    expect(await cleanUp(client, 'infinity')).toBe(1)
  })
})

it('[G8] removes steps and events with their saga, and counts sagas only', async () => {
  await inRolledBackTransaction(database.pool, async (client) => {
    const gone = [
      await insertSaga(client, { state: 3, updated_at: BEFORE }),
      await insertSaga(client, { state: 8, updated_at: BEFORE }),
    ]
    const kept = await insertSaga(client, { state: 3, updated_at: CUTOFF })
    for (const saga of [...gone, kept]) {
      await insertStep(client, saga, { step_index: 0 })
      await insertStep(client, saga, { step_index: 1 })
      await insertSagaEvent(client, saga)
    }
    expect(await cleanUp(client)).toBe(2)
    for (const saga of gone) {
      expect(await countRows(client, 'saga_steps', saga)).toBe(0)
      expect(await countRows(client, 'saga_events', saga)).toBe(0)
    }
    expect(await countRows(client, 'saga_steps', kept)).toBe(2)
    expect(await countRows(client, 'saga_events', kept)).toBe(1)
  })
})

it('[G8] removes nothing for null, and nothing twice', async () => {
  await inRolledBackTransaction(database.pool, async (client) => {
    await insertSaga(client, { state: 3, updated_at: BEFORE })
    expect(await cleanUp(client, null)).toBe(0)
    expect(await cleanUp(client)).toBe(1)
    expect(await cleanUp(client)).toBe(0)
  })
})

it('[G8] [G12] runs for saga_app_role, with its own rights', async () => {
  const saga = await insertSaga(database.pool, { state: 3, updated_at: BEFORE })
  await insertSagaEvent(database.pool, saga)
  expect(await cleanUp(database.as('saga_app_role'))).toBe(1)
  expect(await countRows(database.pool, 'saga_events', saga)).toBe(0)
  const { rows } = await database.pool.query(
    `SELECT prosecdef, proconfig FROM pg_proc WHERE oid = 'sagapost.cleanup_expired_sagas(timestamptz)'::regprocedure`,
  )
  expect(rows).toEqual([
    {
      prosecdef: false,
      proconfig: ['search_path=pg_catalog, pg_temp', 'plan_cache_mode=force_custom_plan'],
    },
  ])
})
