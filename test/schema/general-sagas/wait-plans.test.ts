import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'
import { allowAnyBeginning, inRolledBackTransaction } from './fixtures.js'

const WAITING = 30_000
const DUE = 7
/** What one saga, step, event or delivery may cost in rows: found, locked, changed, and found by others. */
const ROWS_EACH = 25

/** Sagas that wait for the delivery of an event each; a few are due to be looked at, and every three have one parent. */
const insertWaiting = `
  WITH made AS (
    INSERT INTO sagapost.saga_instances (id, definition_id, state, current_step, total_steps, wake_at, parent_id)
    SELECT 'saga-' || i, 'tell', 1, 0, 1, NULL, 'parent-' || i / 3 FROM generate_series(1, $1::int) AS i
    RETURNING id
  ), stepped AS (
    INSERT INTO sagapost.saga_steps (id, saga_id, step_index, name, state, attempts, max_attempts, waits_for)
    SELECT id || ':0', id, 0, 'tell', 1, 1, 1, 'delivery:' || id || ':0' FROM made
  )
  INSERT INTO sagapost.saga_awaited_events (saga_id, step_index, event_id, stored_at, look_at)
  SELECT 'saga-' || i, 0, i, sagapost.now(), sagapost.now() + (CASE WHEN i <= $2 THEN -1 ELSE 1 END) * i * interval '1 hour'
  FROM generate_series(1, $1::int) AS i`

const insertEvents = `
  INSERT INTO sagapost.events (id, event_type, payload) SELECT i, 'told', '1' FROM generate_series(1, $1::int) AS i`
const insertDeliveries = `
  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT i, $2 FROM generate_series(1, $1::int) AS i`

const countRows = `
  SELECT sum(seq_tup_read)::int AS scanned, sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read
  FROM pg_stat_xact_user_tables WHERE schemaname = 'sagapost' AND relname NOT IN ('saga_wakeups')`

describe('with many that wait for deliveries', () => {
  const database = useDatabase()

  beforeAll(async () => {
    await allowAnyBeginning(database.pool)
    const subscription = await insertSubscription(database.pool, { type: 'told' })
    await database.pool.query(insertWaiting, [WAITING, DUE])
    await database.pool.query(insertEvents, [WAITING])
    await database.pool.query(insertDeliveries, [WAITING, subscription])
    await database.pool.query('DELETE FROM sagapost.event_routing_queue')
    for (const status of ['InProgress', 'Completed']) {
      await database.pool.query(
        'UPDATE sagapost.webhook_delivery_sagas SET status = $1::sagapost.delivery_status WHERE event_id = 3',
        [status],
      )
    }
    await database.pool.query('VACUUM ANALYZE')
  })

  /** What the statement answers, with the rows that it took from tables; nothing is left of it. */
  async function measure(sql: string, values: unknown[], after?: (client: pg.PoolClient) => Promise<void>) {
    return inRolledBackTransaction(database.pool, async (client) => {
      const before = (await client.query(countRows)).rows[0]
      const { rows } = await client.query(sql, values)
      const { read, scanned } = (await client.query(countRows)).rows[0]
      await after?.(client)
      return { rows, read: read - before.read, scanned: scanned - before.scanned }
    })
  }

  it('[G10] a look at deliveries reads those that are due, by idx_saga_awaited_look and the indexes of their event', async () => {
    const { rows, read, scanned } = await measure(
      'SELECT sagapost.note_deliveries($1) AS looked',
      [500],
      async (client) => {
        const notes = await client.query('SELECT topic FROM sagapost.saga_wakeups')
        expect(notes.rows).toEqual([{ topic: 'delivery:saga-3:0' }])
      },
    )
    expect(rows).toEqual([{ looked: DUE }])
    expect(scanned).toBe(0)
    expect(read).toBeLessThan(DUE * ROWS_EACH)
  })

  it('[G10] a requeue finds the sagas that wait for its event by idx_saga_awaited_event', async () => {
    const { read, scanned } = await measure('SELECT sagapost.look_at_requeued($1)', [[5, 17_000, 29_000]])
    expect(scanned).toBe(0)
    expect(read).toBeLessThan(3 * ROWS_EACH)
  })

  it('[G10] what steps wait for is found by the keys of those steps', async () => {
    const ids = Array.from({ length: 50 }, (_, place) => `saga-${place * 500 + 1}`)
    const { rows, read, scanned } = await measure(
      'SELECT saga_id, standing FROM sagapost.awaited_deliveries($1, $2)',
      [ids, ids.map(() => 0)],
    )
    expect(rows).toHaveLength(50)
    expect(scanned).toBe(0)
    expect(read).toBeLessThan(50 * ROWS_EACH)
  })

  it('[G10] news of a parent finds its children by idx_saga_parent, and no other saga', async () => {
    await inRolledBackTransaction(database.pool, async (client) => {
      await client.query(`INSERT INTO sagapost.saga_wakeups (topic) VALUES ('saga:parent-5000')`)
      const before = (await client.query(countRows)).rows[0]
      await client.query('SELECT sagapost.wake_sagas(500)')
      const { read, scanned } = (await client.query(countRows)).rows[0]
      expect(scanned - before.scanned).toBe(0)
      expect(read - before.read).toBeLessThan(3 * ROWS_EACH)
      const { rows } = await client.query('SELECT id FROM sagapost.saga_instances WHERE woken ORDER BY id')
      expect(rows).toEqual([{ id: 'saga-15000' }, { id: 'saga-15001' }, { id: 'saga-15002' }])
    })
  })

  it('[G10] news that no saga waits for costs nothing, where all others wait for the same', async () => {
    await inRolledBackTransaction(database.pool, async (client) => {
      await client.query(`UPDATE sagapost.saga_steps SET waits_for = 'signal:open:all'`)
      await client.query('ANALYZE sagapost.saga_steps')
      await client.query(
        `INSERT INTO sagapost.saga_wakeups (topic) SELECT 'signal:open:' || i FROM generate_series(1, 100) AS i`,
      )
      const before = (await client.query(countRows)).rows[0]
      expect((await client.query('SELECT sagapost.wake_sagas(500) AS passed')).rows).toEqual([
        { passed: 100 },
      ])
      const { read } = (await client.query(countRows)).rows[0]
      expect(read - before.read).toBeLessThan(100)
    })
  })

  it('[G10] a write that starts a child, leaves news and waits for an event reads its own rows', async () => {
    const change = {
      ...{ saga_id: 'saga-10', owner: null, version: 0, state: 1, current_step: 0, released: true },
      steps: [{ index: 0, state: 1, attempts: 1, max_attempts: 1, waits_for: 'delivery:saga-10:0' }],
      ...{ events: [], events_written: 0, wakes: ['saga:saga-10'] },
      publications: [{ step_index: 0, type: 'told', payload: '1', span_id: '0'.repeat(15).concat('1') }],
      children: [
        {
          ...{ id: 'saga-new', definition_id: 'tell', definition_version: 1, parent_id: 'saga-10' },
          ...{ step_names: ['one'], step_attempts: [1], retry_policy: { max_attempts: 1 } },
        },
      ],
    }
    const { rows, read, scanned } = await measure(
      'SELECT saga_id FROM sagapost.write_saga_changes($1, 1000)',
      [JSON.stringify([change])],
    )
    expect(rows).toEqual([{ saga_id: 'saga-10' }])
    expect(scanned).toBe(0)
    expect(read).toBeLessThan(3 * ROWS_EACH)
  })
})
