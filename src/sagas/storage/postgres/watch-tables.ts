import pg from 'pg'

/** Views of migrations/0013; pg gives bigint as text. */
const selectTableSizes = `
  SELECT table_name AS "tableName", table_bytes::float8 AS "tableBytes", index_bytes::float8 AS "indexBytes",
         total_bytes::float8 AS "totalBytes", rows_estimated::float8 AS "rowsEstimated",
         coalesce(dead_rows, 0)::float8 AS "deadRows",
         greatest(last_vacuum, last_autovacuum) AS "vacuumedAt", greatest(last_analyze, last_autoanalyze) AS "analyzedAt"
  FROM sagapost.saga_table_sizes`

const selectIndexUsage = `
  SELECT table_name AS "tableName", index_name AS "indexName", idx_scan::float8 AS scans,
         idx_tup_read::float8 AS "rowsRead", index_bytes::float8 AS "indexBytes", is_valid AS "isValid"
  FROM sagapost.saga_index_usage`

const selectSlowQueries = `
  SELECT query, calls::float8 AS calls, mean_ms AS "meanMs", total_ms AS "totalMs"
  FROM sagapost.saga_slow_queries($1)`

const SLOW_QUERIES = 20
/** SQLSTATE when pg_stat_statements is not installed or not loaded. */
const NOT_READY = '55000'

interface TableSize {
  readonly tableName: string
  readonly tableBytes: number
  readonly indexBytes: number
  readonly totalBytes: number
  readonly rowsEstimated: number
  readonly deadRows: number
  /** By hand or by autovacuum; null: never, or not since the statistics were reset. */
  readonly vacuumedAt: Date | null
  readonly analyzedAt: Date | null
}

interface IndexUsage {
  readonly tableName: string
  readonly indexName: string
  readonly scans: number
  readonly rowsRead: number
  readonly indexBytes: number
  /** False: left over from an interrupted REINDEX CONCURRENTLY; unused, and can be dropped. */
  readonly isValid: boolean
}

interface SlowQuery {
  readonly query: string
  readonly calls: number
  readonly meanMs: number
  readonly totalMs: number
}

export interface SagaTables {
  /** Largest first. */
  readonly sizes: readonly TableSize[]
  /** Least used first. */
  readonly indexes: readonly IndexUsage[]
  /** Slowest first; null when the extension pg_stat_statements is not active. */
  readonly slowQueries: readonly SlowQuery[] | null
}

/**
 * [G16] The sizes of the sagas' tables, and how they are used. The pool is under saga_readonly_role, or the owner's.
 */
export async function readSagaTables(pool: pg.Pool): Promise<SagaTables> {
  const [sizes, indexes, slowQueries] = await Promise.all([
    pool.query<TableSize>(selectTableSizes),
    pool.query<IndexUsage>(selectIndexUsage),
    pool.query<SlowQuery>(selectSlowQueries, [SLOW_QUERIES]).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === NOT_READY) return null
      throw error
    }),
  ])
  return { sizes: sizes.rows, indexes: indexes.rows, slowQueries: slowQueries?.rows ?? null }
}
