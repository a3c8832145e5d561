import type pg from 'pg'
import { isRefusal, LOCK_TIMED_OUT } from './database-errors.js'

/**
 * Runs work on a connection that survives a refused statement or a lock time-out. `pool.query` closes the connection
 * after any error, and the next statement would pay for another login.
 */
export async function onConnection<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await work(client)
  } catch (error) {
    if (!isRefusal(error) && (error as { code?: unknown }).code !== LOCK_TIMED_OUT) broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}
