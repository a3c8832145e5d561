import type pg from 'pg'

/** How many backends of this database stand at a lock: the condition to wait for before the holder goes on. */
export async function countLockWaiters(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rowCount ?? 0
}

/** The result of the work; an error as soon as a session waits for a lock that the work should have passed over. */
export async function withoutWaiting<T>(pool: pg.Pool, work: Promise<T>): Promise<T> {
  let done = false
  work.catch(() => {}) // it may fail later, when whoever it waited for is gone
  const watch = async (): Promise<T> => {
    while (!done) if ((await countLockWaiters(pool)) > 0) throw new Error('it waits for a lock')
    return work
  }
  try {
    return await Promise.race([work, watch()])
  } finally {
    done = true
  }
}
