import type pg from 'pg'
import { listProcesses, type RunningProcess } from './list-processes.js'

const SLOW_STATEMENTS_MAX = 10
const QUERY_CHARACTERS_MAX = 2_000

export interface SystemDescription {
  schemaVersion: number
  serverVersion: string
  databaseBytes: number
  connections: number
  connectionsMax: number
  processes: RunningProcess[]
  /** The largest first; partitions are counted with their table. */
  tables: {
    name: string
    tableBytes: number
    indexBytes: number
    /** By the last statistics; null before the first ones. */
    rowsEstimated: number | null
    partitions: number
  }[]
  /** Of the same tables, the largest first. */
  indexes: { name: string; table: string; bytes: number; scans: number }[]
  /** By the time they took in all; null: pg_stat_statements is not there. */
  slowStatements: { query: string; calls: number; meanMs: number; totalMs: number }[] | null
}

const selectServer = `
  SELECT (SELECT max(version) FROM sagapost.saga_schema_version) AS schema_version,
         current_setting('server_version') AS server_version,
         pg_database_size(current_database())::float8 AS database_bytes,
         (SELECT sum(numbackends)::int FROM pg_stat_database WHERE datname = current_database()) AS connections,
         current_setting('max_connections')::int AS connections_max,
         EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements') AS has_statements`

// Files' sizes and estimates: no table is read.
const selectTables = `
  SELECT coalesce(parent.relname, class.relname) AS name, sum(pg_table_size(class.oid))::float8 AS table_bytes,
         sum(pg_indexes_size(class.oid))::float8 AS index_bytes,
         (sum(class.reltuples) FILTER (WHERE class.reltuples >= 0))::float8 AS rows_estimated, count(parent.oid)::int AS partitions
  FROM pg_class AS class
  LEFT JOIN pg_inherits ON inhrelid = class.oid
  LEFT JOIN pg_class AS parent ON parent.oid = inhparent
  WHERE class.relnamespace = 'sagapost'::regnamespace AND class.relkind = 'r'
  GROUP BY 1 ORDER BY sum(pg_total_relation_size(class.oid)) DESC`

const selectIndexes = `
  SELECT coalesce(parent.relname, class.relname) AS name, coalesce(parent_table.relname, stat.relname) AS table,
         sum(pg_relation_size(class.oid))::float8 AS bytes, sum(stat.idx_scan)::float8 AS scans
  FROM pg_stat_all_indexes AS stat
  JOIN pg_class AS class ON class.oid = stat.indexrelid
  LEFT JOIN pg_inherits AS inherited ON inherited.inhrelid = class.oid
  LEFT JOIN pg_class AS parent ON parent.oid = inherited.inhparent
  LEFT JOIN pg_inherits AS inherited_table ON inherited_table.inhrelid = stat.relid
  LEFT JOIN pg_class AS parent_table ON parent_table.oid = inherited_table.inhparent
  WHERE stat.schemaname = 'sagapost'
  GROUP BY 1, 2 ORDER BY 3 DESC, 1`

const selectStatements = `
  SELECT left(query, $2) AS query, calls::float8 AS calls, mean_ms, total_ms FROM sagapost.slow_statements($1)`

/** What an operator asks about the database and the processes on it. Under the role saga_readonly_role. */
export async function describeSystem(pool: pg.Pool): Promise<SystemDescription> {
  const { rows } = await pool.query(selectServer)
  const [server] = rows
  const tables = await pool.query(selectTables)
  const indexes = await pool.query(selectIndexes)
  const statements = server.has_statements
    ? await pool.query(selectStatements, [SLOW_STATEMENTS_MAX, QUERY_CHARACTERS_MAX])
    : null
  return {
    schemaVersion: server.schema_version,
    serverVersion: server.server_version,
    databaseBytes: server.database_bytes,
    connections: server.connections,
    connectionsMax: server.connections_max,
    processes: await listProcesses(pool),
    tables: tables.rows.map((row) => ({
      name: row.name,
      tableBytes: row.table_bytes,
      indexBytes: row.index_bytes,
      rowsEstimated: row.rows_estimated,
      partitions: row.partitions,
    })),
    indexes: indexes.rows,
    slowStatements:
      statements?.rows.map((row) => ({
        query: row.query,
        calls: row.calls,
        meanMs: row.mean_ms,
        totalMs: row.total_ms,
      })) ?? null,
  }
}
