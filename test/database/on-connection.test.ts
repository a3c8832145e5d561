import pg from 'pg'
import { expect, it } from 'vitest'
import { onConnection } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

it('[O7] a connection survives a statement that was refused or timed out, and no other error', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  let connections = 0
  pool.on('connect', (client) => {
    connections += 1
    client.on('error', () => {})
  })
  const run = (sql: string) => onConnection(pool, (client) => client.query(sql))
  try {
    expect((await run('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await expect(run('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' })
    await expect(run(`DO $$ BEGIN RAISE SQLSTATE '55P03'; END $$`)).rejects.toMatchObject({ code: '55P03' })
    await run('SELECT 1')
    expect(connections).toBe(1)
    await expect(run('SELECT pg_terminate_backend(pg_backend_pid())')).rejects.toThrow()
    await run('SELECT 1')
    expect(connections).toBe(2)
  } finally {
    await pool.end()
  }
})
