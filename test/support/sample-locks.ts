import type pg from 'pg'

export interface LockSample {
  /** Works as the pool it was made from, one statement after the other. */
  pool: pg.Pool
  /** By statement: the most locks of relations that its transaction held once it was done. */
  locks: ReadonlyMap<string, number>
}

const countLocks = `
  SELECT count(*)::int AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'`

/** Looks at the locks that statements leave behind in their transaction. Those outside of one get one of their own. */
export function sampleLocks(
  pool: pg.Pool,
  afterStatement: (sql: string) => Promise<void> = async () => {},
): LockSample {
  const locks = new Map<string, number>()
  async function run(client: pg.PoolClient, statement: string | pg.QueryConfig, values?: unknown[]) {
    const result = await client.query(statement as string, values)
    const sql = typeof statement === 'string' ? statement : statement.text
    if (!/^\s*(SELECT|WITH)\b/.test(sql)) return result
    const { rows } = await client.query<{ locks: number }>(countLocks)
    locks.set(sql, Math.max(locks.get(sql) ?? 0, rows[0]?.locks ?? 0))
    await afterStatement(sql)
    return result
  }
  const sampled = {
    async connect() {
      const client = await pool.connect()
      return {
        query: (statement: string, values?: unknown[]) => run(client, statement, values),
        release: (error?: Error) => client.release(error),
      }
    },
    async query(statement: string, values?: unknown[]) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        return await run(client, statement, values)
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    },
  }
  return { pool: sampled as unknown as pg.Pool, locks }
}
