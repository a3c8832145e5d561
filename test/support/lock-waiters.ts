import type pg from 'pg'

/** How many backends of this database stand at a lock: the condition to wait for before the holder goes on. */
export async function countLockWaiters(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rowCount ?? 0
}
