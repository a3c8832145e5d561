import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  checkReadiness,
  type DatabaseRole,
  databaseRoles,
  keepPartitionsAhead,
  loadMigrations,
  migrationsFolder,
} from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { insertEvent } from '../support/fixtures.js'
import { codeOf } from '../support/refusal.js'

const growing = ['dead_letters', 'events', 'webhook_delivery_jobs', 'webhook_delivery_sagas']
const WIDTH = 1000

/** The file begins with partitions for the ids 0 to 2,999,999; each test puts the next id where it wants it. */
const database = useDatabase()

const ensure = async (client: pg.Pool = database.as('schema_maintainer')): Promise<number> => {
  const { rows } = await client.query('SELECT sagapost.ensure_partitions() AS headroom')
  return Number(rows[0].headroom)
}

const headroom = async () => {
  const { rows } = await database
    .as('saga_readonly_role')
    .query('SELECT headroom::int, low FROM sagapost.partition_headroom()')
  return rows[0] as { headroom: number; low: boolean }
}

const setNextId = (id: number) =>
  database.pool.query(`SELECT setval('sagapost.events_id_seq', $1, false)`, [id])

const lastTo = async () => {
  const { rows } = await database.pool.query('SELECT max(to_id)::int AS to_id FROM sagapost.partitions')
  return rows[0].to_id as number
}

async function useSmallPartitions(): Promise<void> {
  await database.pool.query('UPDATE sagapost.partition_settings SET events_per_partition = $1', [WIDTH])
}

const readiness = async () =>
  checkReadiness(database.as('schema_maintainer'), await loadMigrations(migrationsFolder))

describe('partitions', () => {
  it('[O7] are created for all four tables with the same ranges, ahead of the first event', async () => {
    const { rows } = await database.pool.query(
      `SELECT from_id::int, to_id::int, array_agg(table_name::text ORDER BY table_name) AS tables
       FROM sagapost.partitions GROUP BY 1, 2 ORDER BY 1`,
    )
    expect(rows).toEqual(
      [0, 1, 2].map((n) => ({ from_id: n * 1_000_000, to_id: (n + 1) * 1_000_000, tables: growing })),
    )
    expect(await headroom()).toEqual({ headroom: 2_999_999, low: false })
  })

  it('[O7] are like their table in columns, constraints and indexes', async () => {
    const shape = `
      SELECT array_agg(kind || ' ' || definition ORDER BY kind, definition) AS shape FROM (
        SELECT 'column' AS kind, attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' '
          || coalesce(pg_get_expr(adbin, adrelid), '') AS definition
        FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = $1::regclass AND attnum > 0
        UNION ALL
        SELECT 'constraint', conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = $1::regclass AND contype = 'c'
        UNION ALL
        SELECT 'index', regexp_replace(indexrelid::regclass::text, '_from_\\d+$', '') || ' '
          || regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '')
        FROM pg_index WHERE indrelid = $1::regclass
      ) AS parts`
    for (const table of growing) {
      const [parent, partition] = await Promise.all(
        [`sagapost.${table}`, `sagapost.${table}_from_1000000`].map((name) =>
          database.pool.query(shape, [name]),
        ),
      )
      expect(partition?.rows[0].shape.length).toBeGreaterThan(5)
      expect(partition?.rows).toEqual(parent?.rows)
    }
  })

  it('[O7] that are created later can be read by every role that reads events', async () => {
    await setNextId((await lastTo()) - 5)
    await ensure()
    const { rows: readers } = await database.pool.query<{ role: DatabaseRole }>(
      `SELECT role FROM unnest($1::text[]) AS role WHERE has_column_privilege(role, 'sagapost.events', 'id', 'SELECT')`,
      [databaseRoles],
    )
    expect(readers.length).toBeGreaterThan(3)
    // The planner computes the checks of each partition with the rights of the role that reads.
    for (const { role } of readers) {
      const reading = database
        .as(role)
        .query('SELECT id FROM sagapost.events WHERE id > $1', [(await lastTo()) - 5])
      await expect(reading, role).resolves.toMatchObject({ rows: [] })
    }
  })

  it('[O7] are created ahead as the ids grow, and only when there are too few', async () => {
    await useSmallPartitions()
    const before = await lastTo()
    expect(await ensure()).toBe((await headroom()).headroom)
    expect(await lastTo()).toBe(before)
    await setNextId(before - 1)
    expect(await ensure()).toBeGreaterThanOrEqual(2 * WIDTH)
    expect(await lastTo()).toBe(before + 2 * WIDTH)
    const { rows } = await database.pool.query('SELECT FROM sagapost.partitions WHERE to_id > $1', [before])
    expect(rows).toHaveLength(2 * growing.length)
  })

  it('[O7] are created while a publishing transaction is open, and neither waits for the other', async () => {
    await useSmallPartitions()
    await setNextId((await lastTo()) - 5)
    const [publisher, reader, maker, other] = await Promise.all(
      [1, 2, 3, 4].map(() => database.pool.connect()),
    )
    if (!publisher || !reader || !maker || !other) throw new Error('no connection')
    try {
      await publisher.query('BEGIN')
      await insertEvent(publisher)
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await reader.query('SELECT count(*) FROM sagapost.webhook_delivery_sagas')
      const before = await lastTo()
      // A lock that would have to be waited for fails at once.
      await maker.query('BEGIN')
      await maker.query(`ALTER FUNCTION sagapost.ensure_partitions() SET lock_timeout = '1ms'`)
      await maker.query('SELECT sagapost.ensure_partitions()')
      // … and the uncommitted ATTACH blocks no other session either.
      await other.query(`SET lock_timeout = '1ms'`)
      await insertEvent(other)
      await maker.query('COMMIT')
      expect(await lastTo()).toBeGreaterThan(before)
    } finally {
      for (const client of [publisher, reader, maker, other]) client.release(true)
      await database.pool.query(`ALTER FUNCTION sagapost.ensure_partitions() SET lock_timeout = '2s'`)
    }
  })

  it('[O7] are created once by concurrent calls', async () => {
    await useSmallPartitions()
    const before = await lastTo()
    await setNextId(before - 1)
    await Promise.all(Array.from({ length: 4 }, () => ensure()))
    await ensure()
    const { rows } = await database.pool.query('SELECT FROM sagapost.partitions WHERE to_id > $1', [before])
    expect(rows).toHaveLength(2 * growing.length)
  })

  it('[O7] yield to a session that has locked the table, and are created by the next call', async () => {
    await useSmallPartitions()
    const before = await lastTo()
    await setNextId(before - 1)
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE sagapost.events IN SHARE UPDATE EXCLUSIVE MODE')
    expect(await codeOf(ensure())).toBe('SQLSTATE 55P03')
    await holder.query('ROLLBACK')
    holder.release()
    // The refused call tells its error before it lets go of the row that is the lock.
    await expect.poll(ensure).toBeGreaterThanOrEqual(2 * WIDTH)
    expect(await lastTo()).toBeGreaterThan(before)
  })

  it('[O7] that cannot be created leave nothing behind, and are created by the next call', async () => {
    await useSmallPartitions()
    const before = await lastTo()
    await setNextId(before - 1)
    await database.pool.query(`CREATE TABLE sagapost.dead_letters_from_${before} (in_the_way int)`)
    expect(await codeOf(ensure())).toBe('SQLSTATE 42P07')
    expect(await lastTo()).toBe(before)
    await database.pool.query(`DROP TABLE sagapost.dead_letters_from_${before}`)
    // The refused call tells its error before it lets go of the row that is the lock.
    await expect.poll(ensure).toBeGreaterThanOrEqual(2 * WIDTH)
  })
})

describe('headroom', () => {
  it('[E1] a burst past the last partition is refused with a clear code and stores nothing', async () => {
    await useSmallPartitions()
    const before = await lastTo()
    await setNextId(before - 10)
    const burst = database
      .as('event_ingest_writer')
      .query(
        `INSERT INTO sagapost.events (event_type, payload) SELECT 'burst', '1' FROM generate_series(1, 20)`,
      )
    expect(await codeOf(burst)).toBe('partition_missing')
    const { rows } = await database.pool.query(`SELECT FROM sagapost.events WHERE event_type = 'burst'`)
    expect(rows).toHaveLength(0)
    await ensure()
    expect(await codeOf(insertEvent(database.pool, { type: 'burst' }))).toBe('accepted')
  })

  it('[O7] low headroom fails readiness, and a round of the loop restores it', async () => {
    await useSmallPartitions()
    await ensure()
    expect(await readiness()).toEqual([])
    await setNextId((await lastTo()) - WIDTH + 1)
    expect(await headroom()).toEqual({ headroom: WIDTH - 1, low: true })
    expect(await readiness()).toMatchObject([{ code: 'partition_headroom_low' }])
    await ensure()
    expect(await readiness()).toEqual([])
  })

  it('[O7] after a restore whose ids are far ahead, partitions are created where the ids are', async () => {
    await useSmallPartitions()
    const far = 5_000_000_500
    await setNextId(far)
    expect(await headroom()).toEqual({ headroom: 0, low: true })
    expect(await codeOf(insertEvent(database.pool))).toBe('partition_missing')
    expect(await ensure()).toBeGreaterThanOrEqual(2 * WIDTH)
    const id = await insertEvent(database.pool)
    expect(Number(id)).toBeGreaterThanOrEqual(far)
    expect(await readiness()).toEqual([])
  })

  it('[O7] ids that were set back into a gap count as uncovered, and the gap is filled', async () => {
    await useSmallPartitions()
    const gap = 4_000_000_500
    await setNextId(gap)
    expect(await headroom()).toEqual({ headroom: 0, low: true })
    const { rows: later } = await database.pool.query(
      'SELECT min(from_id)::text AS id FROM sagapost.partitions WHERE from_id > $1',
      [gap],
    )
    expect(Number(later[0].id)).toBeGreaterThan(gap)
    expect(await ensure()).toBeGreaterThanOrEqual(2 * WIDTH)
    expect(await codeOf(insertEvent(database.pool))).toBe('accepted')
    // Right before a partition that is there: no range may overlap it.
    await setNextId(Number(later[0].id) - WIDTH / 2)
    expect(await ensure()).toBeGreaterThanOrEqual(2 * WIDTH)
    const { rows: overlaps } = await database.pool.query(
      `SELECT FROM sagapost.partitions AS a JOIN sagapost.partitions AS b USING (table_name)
       WHERE a.from_id < b.from_id AND a.to_id > b.from_id`,
    )
    expect(overlaps).toEqual([])
  })

  it('[O7] a table that has lost its partitions counts as uncovered, whatever the others have', async () => {
    const { rows } = await database.pool.query(
      `SELECT partition_name FROM sagapost.partitions WHERE table_name = 'dead_letters' ORDER BY to_id DESC LIMIT 1`,
    )
    await database.pool.query(
      `ALTER TABLE sagapost.dead_letters DETACH PARTITION sagapost.${rows[0].partition_name}`,
    )
    await database.pool.query(`DROP TABLE sagapost.${rows[0].partition_name}`)
    const { rows: least } = await database.pool.query(
      `SELECT min(to_id)::bigint AS to_id FROM
         (SELECT max(to_id) AS to_id FROM sagapost.partitions GROUP BY table_name) AS upper`,
    )
    const { rows: next } = await database.pool.query(
      'SELECT last_value + is_called::int AS id FROM sagapost.events_id_seq',
    )
    expect((await headroom()).headroom).toBe(Number(least[0].to_id) - Number(next[0].id))
    const ranges = async () => {
      const all = await database.pool.query(
        `SELECT table_name, array_agg(from_id ORDER BY from_id) AS from_ids FROM sagapost.partitions
         WHERE to_id > (SELECT last_value FROM sagapost.events_id_seq) GROUP BY 1`,
      )
      return all.rows.map((row) => row.from_ids)
    }
    await ensure()
    const [first, ...others] = await ranges()
    expect(others).toEqual([first, first, first])
    expect(await readiness()).toEqual([])
  })
})

describe('the loop', () => {
  it('[O7] creates partitions at once, continues after an error, and stops on request', async () => {
    await setNextId(9_000_000_000)
    const errors: Error[] = []
    await database.pool.query(
      `REVOKE EXECUTE ON FUNCTION sagapost.ensure_partitions() FROM schema_maintainer`,
    )
    const loop = keepPartitionsAhead({
      pool: database.as('schema_maintainer'),
      intervalMs: 5,
      onError: (error) => errors.push(error),
    })
    await expect.poll(() => errors.length).toBeGreaterThan(1)
    await database.pool.query(`GRANT EXECUTE ON FUNCTION sagapost.ensure_partitions() TO schema_maintainer`)
    await expect.poll(async () => (await headroom()).low).toBe(false)
    await loop.stop()
    const seen = errors.length
    await setNextId(11_000_000_000)
    expect((await headroom()).low).toBe(true)
    expect(errors).toHaveLength(seen)
  })
})

describe('retention', () => {
  it('[O7] a closed range is detached concurrently and dropped, while an event is being published', async () => {
    await setNextId(1_500_000)
    const publisher = await database.pool.connect()
    try {
      await publisher.query('BEGIN')
      await publisher.query(`SELECT sagapost.publish('kept', '{}')`)
      for (const table of growing) {
        const detach = database.pool.query(
          `ALTER TABLE sagapost.${table} DETACH PARTITION sagapost.${table}_from_0 CONCURRENTLY`,
        )
        // It waits for the open transaction, and new ones do not wait for it.
        if (table === 'events') {
          await expect
            .poll(async () => {
              const { rows } = await database.pool.query(
                `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%CONCURRENTLY%' AND datname = current_database()`,
              )
              return rows.length
            })
            .toBe(1)
          expect(await codeOf(insertEvent(database.pool))).toBe('accepted')
          await publisher.query('COMMIT')
        }
        await detach
        await database.pool.query(`DROP TABLE sagapost.${table}_from_0`)
      }
    } finally {
      publisher.release(true)
    }
    const { rows } = await database.pool.query('SELECT FROM sagapost.partitions WHERE from_id = 0')
    expect(rows).toHaveLength(0)
  })
})
