import { beforeAll, expect, it } from 'vitest'
import {
  createCoordinator,
  createPostgresStorage,
  maintainSagaTables,
  readSagaTables,
  saga,
  sagaMaintenanceTasks,
} from '../../src/sagas/index.js'
import { useDatabase } from '../support/database.js'

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
  await expect.poll(() => scansOf('saga_instances_pkey'), { timeout: 30_000 }).toBeGreaterThan(0)
})

it('[G16] slow queries are told where pg_stat_statements is at work, and otherwise that it is not', async () => {
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

it.each(sagaMaintenanceTasks)('[G16] operators can run the task %s', async (task) => {
  await maintainSagaTables(database.pool, task)
  if (task !== 'vacuum') return
  const { rows } = await database.pool.query(
    `SELECT relname FROM pg_stat_user_tables WHERE last_vacuum IS NOT NULL AND last_analyze IS NOT NULL
       AND relname IN ('saga_instances', 'saga_steps', 'saga_events')`,
  )
  expect(rows).toHaveLength(3)
})
