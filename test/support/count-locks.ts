import type pg from 'pg'
import { createRolePool, type DatabaseRole } from '../../src/database/index.js'

export interface CountingPool {
  pool: pg.Pool
  /** How many relations the transaction with the most locks has locked. */
  most(): number
  end(): Promise<void>
}

/**
 * A pool that notes how many relations each of its transactions has locked. What a role's plans are pinned to, and which
 * statements are kept, is as in the parts, or as in the API.
 */
export function countLocks(
  databaseUrl: string,
  role: DatabaseRole,
  { pinnedPlans = false } = {},
): CountingPool {
  const pool = createRolePool({ databaseUrl, role, connectionsMax: 1, pinnedPlans, preparedStatements: true })
  let most = 0
  const note = async (client: pg.PoolClient) => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'`,
    )
    most = Math.max(most, rows[0].locks)
  }
  const counting = {
    async query(text: string, values: unknown[]) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await client.query(text, values)
        await note(client)
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
    async connect() {
      const client = await pool.connect()
      return {
        async query(text: string, values: unknown[]) {
          if (text === 'COMMIT') await note(client)
          return client.query(text, values)
        },
        release: () => client.release(),
      }
    },
  } as unknown as pg.Pool
  return { pool: counting, most: () => most, end: () => pool.end() }
}
