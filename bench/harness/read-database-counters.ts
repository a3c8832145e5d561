import type pg from 'pg'

/** What PostgreSQL has counted for one database so far. */
export interface DatabaseCounters {
  commits: number
  buffers: number
  updates: number
  hotUpdates: number
}

const readCounters = `
  SELECT xact_commit::float8 AS commits, (blks_hit + blks_read)::float8 AS buffers,
         (SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables)::float8 AS updates,
         (SELECT coalesce(sum(n_tup_hot_upd), 0) FROM pg_stat_user_tables)::float8 AS "hotUpdates"
  FROM pg_stat_database WHERE datname = current_database()`

/** Backends hand in what they counted when they have been idle for 10 s, or when they end. */
export const COUNTERS_SETTLE_MS = 11_000

export async function readDatabaseCounters(pool: pg.Pool): Promise<DatabaseCounters> {
  const { rows } = await pool.query<DatabaseCounters>(readCounters)
  if (!rows[0]) throw new Error('PostgreSQL counts nothing for this database')
  return rows[0]
}
