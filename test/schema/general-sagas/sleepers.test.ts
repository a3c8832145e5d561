import { beforeAll, describe, expect, it } from 'vitest'
import { claimSagas } from '../../../src/sagas/storage/postgres/claim-sagas.js'
import { deleteSignals, selectSignals } from '../../../src/sagas/storage/postgres/keep-signals.js'
import { lookAheadSql } from '../../../src/sagas/storage/postgres/look-ahead.js'
import { useDatabase } from '../../support/database.js'
import { countRowsRead, explain, explainPrepared } from '../../support/explain.js'
import { allowAnyBeginning, inRolledBackTransaction } from './fixtures.js'

const SLEEPERS = 50_000
const DUE = 7

/** Sleeping sagas of one definition, a few of them due; every second one waits for a signal too. */
const insertSleepers = `
  WITH made AS (
    INSERT INTO sagapost.saga_instances (id, definition_id, state, current_step, total_steps, wake_at)
    SELECT 'saga-' || i, 'nap', 1, 0, 1,
           sagapost.now() + CASE WHEN i <= $2 THEN -i * interval '1 second' ELSE interval '1 hour' + i * interval '1 second' END
    FROM generate_series(1, $1::int) AS i
    RETURNING id
  )
  INSERT INTO sagapost.saga_steps (id, saga_id, step_index, name, state, attempts, max_attempts, waits_for)
  SELECT id || ':0', id, 0, 'rest', 1, 1, 1, CASE WHEN right(id, 1)::int % 2 = 0 THEN 'signal:go:' || id END FROM made`

describe('with many sleepers', () => {
  const database = useDatabase()
  const claims = [['nap', 'other'], [1, 1], [100, 100], 100, 'me', 1_000]

  beforeAll(async () => {
    await allowAnyBeginning(database.pool)
    await database.pool.query(insertSleepers, [SLEEPERS, DUE])
    await database.pool.query('ANALYZE sagapost.saga_instances, sagapost.saga_steps')
  })

  it('[G10] a look ahead reads one row for each definition', async () => {
    const counted = `
      SELECT sum(seq_scan)::int AS scans, sum(coalesce(idx_tup_fetch, 0))::int AS rows
      FROM pg_stat_xact_user_tables WHERE schemaname = 'sagapost'`
    await inRolledBackTransaction(database.pool, async (client) => {
      const before = (await client.query(counted)).rows[0]
      const { rows } = await client.query(lookAheadSql, [
        ['nap', 'other'],
        [1, 1],
      ])
      expect(rows).toEqual([{ news: false, due_in_ms: expect.any(Number) }])
      expect(rows[0].due_in_ms).toBeLessThanOrEqual(-DUE * 1000)
      const after = (await client.query(counted)).rows[0]
      expect(after.scans - before.scans).toBe(0)
      expect(after.rows - before.rows).toBeLessThanOrEqual(2)
    })
  })

  it('[G10] a claim reads what is due and nothing else, prepared or not', async () => {
    for (const plan of [
      await explain(database.pool, claimSagas, claims),
      await explainPrepared(database.pool, claimSagas, claims),
    ]) {
      expect(plan.scanned).toEqual([])
      expect(plan.indexes).toEqual(expect.arrayContaining(['idx_saga_runnable']))
    }
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      // Each row as it is found, locked and updated.
      expect(await countRowsRead(client as never, claimSagas, claims)).toBeLessThanOrEqual(5 * DUE)
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[G10] news finds the sagas that wait for it by index, and touches no other', async () => {
    const client = await database.pool.connect()
    const counted = `
      SELECT sum(seq_scan)::int AS scans FROM pg_stat_xact_user_tables
      WHERE schemaname = 'sagapost' AND relname IN ('saga_instances', 'saga_steps')`
    try {
      await client.query('BEGIN')
      await client.query(`SELECT created FROM sagapost.signal('go', 'saga-40000')`)
      const before = (await client.query(counted)).rows[0].scans
      expect((await client.query('SELECT sagapost.wake_sagas(500) AS passed')).rows).toEqual([{ passed: 1 }])
      expect((await client.query(counted)).rows[0].scans).toBe(before)
      const { rows } = await client.query('SELECT id FROM sagapost.saga_instances WHERE woken')
      expect(rows).toEqual([{ id: 'saga-40000' }])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[G10] signals are read and removed by index', async () => {
    await database.pool.query(`
      INSERT INTO sagapost.saga_signals (name, key, received_at, expires_at)
      SELECT 'go', 'k-' || i, sagapost.now(), sagapost.now() + interval '1 day' FROM generate_series(1, 20000) AS i;
      ANALYZE sagapost.saga_signals`)
    for (const [sql, values] of [
      [selectSignals, [['go'], ['k-1']]],
      [deleteSignals, [100]],
    ] as const) {
      for (const plan of [
        await explain(database.pool, sql, [...values]),
        await explainPrepared(database.pool, sql, values),
      ]) {
        expect(plan.scanned).toEqual([])
      }
    }
  })
})
