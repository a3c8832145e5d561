import { beforeAll, expect, it } from 'vitest'
import {
  createCoordinator,
  createPostgresStorage,
  maintainSagaPartitions,
  maintainSagaTables,
  readSagaTables,
  saga,
} from '../../../../src/sagas/index.js'
import { installStoppedClock, moveClock } from '../../../support/clock.js'
import { useDatabase } from '../../../support/database.js'

const database = useDatabase()

beforeAll(async () => {
  const definition = saga('kept').step('one', { run: () => 1 })
  const coordinator = createCoordinator({
    storage: createPostgresStorage({ pool: database.as('saga_app_role') }),
    definitions: [definition],
    onError: (error) => {
      throw error
    },
  })
  const handle = await coordinator.start(definition, undefined)
  await handle.result()
  await coordinator.stop()
})

it('[G16] operators see the sizes of the tables of sagas, and how each index is used', async () => {
  const { sizes, indexes } = await readSagaTables(database.as('saga_readonly_role'))
  const names = sizes.map(({ tableName }) => tableName)
  expect(names).toEqual(expect.arrayContaining(['saga_instances', 'saga_steps', 'saga_events']))
  for (const { tableBytes, indexBytes, totalBytes } of sizes) {
    expect(totalBytes).toBe(tableBytes + indexBytes)
  }
  expect(sizes.map(({ totalBytes }) => totalBytes)).toEqual(
    sizes.map(({ totalBytes }) => totalBytes).toSorted((a, b) => b - a),
  )
  const { rows } = await database.pool.query(
    `SELECT indexname FROM pg_indexes WHERE schemaname = 'sagapost' AND tablename LIKE 'saga\\_%' ORDER BY 1`,
  )
  expect(indexes.map(({ indexName }) => indexName).toSorted()).toEqual(rows.map(({ indexname }) => indexname))
  const client = await database.pool.connect()
  await client.query(`SET enable_seqscan = off; SELECT FROM sagapost.saga_instances WHERE id = 'nobody'`)
  await client.query('SELECT pg_stat_force_next_flush()')
  client.release(true)
  const scansOf = async (name: string) => {
    const usage = (await readSagaTables(database.as('saga_readonly_role'))).indexes
    return usage.find(({ indexName }) => indexName === name)?.scans
  }
  await expect.poll(() => scansOf('saga_instances_pkey')).toBeGreaterThan(0)
})

it('[G16] slow queries are shown where pg_stat_statements is installed, and otherwise reported as missing', async () => {
  const { rows } = await database.pool.query(`
    SELECT count(*)::int AS there FROM pg_available_extensions WHERE name = 'pg_stat_statements'`)
  expect((await readSagaTables(database.as('saga_readonly_role'))).slowQueries).toBeNull()
  // Without the library loaded, the extension stands for one by a table of the same shape.
  await database.pool.query(`
    CREATE SCHEMA elsewhere;
    CREATE TABLE elsewhere.pg_stat_statements
      (dbid oid, query text, calls bigint, mean_exec_time float8, total_exec_time float8, rows bigint);
    INSERT INTO elsewhere.pg_stat_statements
    SELECT oid, 'SELECT sagapost.saga_' || n, n, n, n * n, 0 FROM pg_database, generate_series(1, 30) AS n
    WHERE datname = current_database();
    INSERT INTO elsewhere.pg_stat_statements SELECT oid, 'SELECT 1', 1, 99, 99, 0 FROM pg_database`)
  expect(rows).toHaveLength(1)
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SET LOCAL allow_system_table_mods = on')
    await client.query(`
      INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      SELECT 4242424, 'pg_stat_statements', 10, 'elsewhere'::regnamespace, false, '1'`)
    const { rows: slow } = await client.query('SELECT query, mean_ms FROM sagapost.saga_slow_queries(2)')
    expect(slow).toEqual([
      { query: 'SELECT sagapost.saga_30', mean_ms: 30 },
      { query: 'SELECT sagapost.saga_29', mean_ms: 29 },
    ])
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
})

it('[G16] the owner vacuums and rebuilds indexes, and the tables show when', async () => {
  const done: string[] = []
  await maintainSagaTables(database.pool, 'vacuum', (table) => done.push(table))
  expect(done).toEqual(['saga_instances', 'saga_steps', 'saga_events'])
  const { sizes } = await readSagaTables(database.as('saga_readonly_role'))
  const looked = sizes.filter(({ tableName }) => done.includes(tableName))
  expect(looked.map(({ vacuumedAt, analyzedAt }) => [vacuumedAt, analyzedAt])).toEqual(
    Array(3).fill([expect.any(Date), expect.any(Date)]),
  )
  await maintainSagaTables(database.pool, 'reindex')
  const { indexes } = await readSagaTables(database.as('saga_readonly_role'))
  expect(indexes.filter(({ isValid }) => !isValid)).toEqual([])
})

it('[G16] the leftovers of an interrupted rebuild are shown', async () => {
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN; SET LOCAL allow_system_table_mods = on')
    await client.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sagapost.idx_step_state'::regclass`,
    )
    const { rows } = await client.query('SELECT index_name FROM sagapost.saga_index_usage WHERE NOT is_valid')
    expect(rows).toEqual([{ index_name: 'idx_step_state' }])
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
})

it.each(['vacuum', 'reindex'] as const)(
  '[G16, G12] only the owner is told that %s was done',
  async (task) => {
    // VACUUM itself would only warn.
    await expect(maintainSagaTables(database.as('schema_maintainer'), task)).rejects.toMatchObject({
      code: 'permission_denied',
    })
  },
)

it('[G15, G16, G18] schema_maintainer creates and drops partitions, and initially there are none', async () => {
  const maintainer = database.as('schema_maintainer')
  expect(await maintainSagaPartitions(maintainer)).toEqual({ made: 0, dropped: 0 })
  // In the middle of an hour, which stays so: partitions are made by the hour.
  await installStoppedClock(database.pool)
  await database.pool.query(`SELECT sagapost.partition_saga_events('1 hour')`)
  await moveClock(database.pool, '3 hours')
  const first = async () =>
    (await maintainer.query('SELECT partition_name FROM sagapost.saga_event_partitions LIMIT 1')).rows[0]
      .partition_name
  // Nothing that is of a saga goes, however old.
  expect((await maintainSagaPartitions(maintainer, { dropOlderThanMs: 0 })).made).toBeGreaterThan(0)
  expect(await first()).toBe('saga_events_before')
  await database.pool.query('DELETE FROM sagapost.saga_instances')
  expect(await maintainSagaPartitions(maintainer, { dropOlderThanMs: 86_400_000 })).toMatchObject({
    dropped: 0,
  })
  expect(await maintainSagaPartitions(maintainer, { dropOlderThanMs: 0 })).toEqual({ made: 0, dropped: 1 })
  expect(await first()).not.toBe('saga_events_before')
})
