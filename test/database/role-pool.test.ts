import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  checkReadiness,
  connect,
  createRolePool,
  loadMigrations,
  migrationsFolder,
  prepared,
} from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

describe('connections of a part', () => {
  it.each([
    '',
    '?options=-c%20statement_timeout%3D5s',
    '?application_name=mine&options=-c%20role%3Djob_worker',
  ])('[O2] run under its role, with our settings, whatever the URL contains: %s', async (query) => {
    // One connection for both: another, made in between, would keep the setting for itself.
    const owner = await database.pool.connect()
    const { rows: names } = await owner.query('SELECT current_database() AS name')
    await owner.query(`ALTER DATABASE ${names[0].name} SET default_transaction_isolation = 'serializable'`)
    const pool = createRolePool({
      databaseUrl: database.url + query,
      role: 'router_worker',
      connectionsMax: 1,
    })
    const { rows } = await pool.query(
      `SELECT current_user AS role, current_setting('search_path') AS path, current_setting('TimeZone') AS zone,
                current_setting('transaction_isolation') AS isolation, current_setting('application_name') AS application,
                current_setting('jit') AS compiler`,
    )
    await pool.end()
    await owner.query(`ALTER DATABASE ${names[0].name} RESET ALL`)
    owner.release()
    expect(rows[0]).toEqual({
      role: 'router_worker',
      path: 'pg_catalog,pg_temp',
      zone: 'UTC',
      isolation: 'read committed',
      application: 'sagapost router_worker',
      compiler: 'off',
    })
  })

  it('[O2] cancel a timed-out statement and drop its connection: the next statement does not wait behind it', async () => {
    const pool = createRolePool({
      databaseUrl: database.url,
      role: 'saga_app_role',
      connectionsMax: 1,
      queryTimeoutMs: 500,
    })
    await expect(pool.query('SELECT pg_sleep(600)')).rejects.toThrow('timeout')
    // Behind the sleep it would get no answer for ten minutes; on a busy machine one may take longer than its time.
    await expect.poll(async () => (await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
    await database.pool.query(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
       WHERE query = 'SELECT pg_sleep(600)' AND datname = current_database()`,
    )
  })

  it('[O2] leave no statement that runs for ever when their process is cut off', async () => {
    const pool = createRolePool({
      databaseUrl: database.url,
      role: 'saga_app_role',
      connectionsMax: 1,
      queryTimeoutMs: 1_000,
    })
    const client = await pool.connect()
    const { rows } = await client.query(
      `SELECT pg_backend_pid() AS pid, current_setting('statement_timeout') AS "limit"`,
    )
    const isAtWork = async () =>
      (await database.pool.query('SELECT FROM pg_stat_activity WHERE pid = $1', [rows[0].pid])).rowCount
    const cutOff = client.query('SELECT pg_sleep(1200)').catch((error: Error) => error.message)
    // As when the process is killed: nothing is left that would cancel the statement.
    ;(client as unknown as { connection: { stream: Socket } }).connection.stream.destroy()
    expect(await cutOff).toMatch(/terminated/)
    client.release(true)
    await pool.end()
    expect(rows[0].limit).toBe('2s')
    await expect.poll(isAtWork, { timeout: 60_000 }).toBe(0)
  })

  it.each([
    [true, 1],
    [false, 0],
  ])('[O2] prepare their statements by name: %s', async (preparedStatements, expected) => {
    const pool = createRolePool({
      databaseUrl: database.url,
      role: 'router_worker',
      connectionsMax: 1,
      preparedStatements,
    })
    const statement = prepared('SELECT $1::int + 1 AS next')
    for (const given of [1, 2])
      expect((await pool.query(statement, [given])).rows).toEqual([{ next: given + 1 }])
    await pool.query('SELECT $1::int AS not_marked', [1])
    const { rows } = await pool.query('SELECT name FROM pg_prepared_statements')
    await pool.end()
    expect(rows).toHaveLength(expected)
  })

  it('[O2] use a login for each role where the URL has {role}, without settings that a pooler would refuse', async () => {
    const page = await readFile(new URL('../../docs/operating/database.md', import.meta.url), 'utf8')
    const [, sample = ''] = /```sql\n(CREATE ROLE login_job_worker.*?)```/s.exec(page) ?? []
    await database.pool.query(sample)
    const url = new URL(database.url)
    const databaseUrl = `postgres://login_{role}:change-me@${url.host}${url.pathname}`
    const pool = createRolePool({ databaseUrl, role: 'job_worker', connectionsMax: 1 })
    const { rows } = await pool.query('SELECT current_user AS role, session_user AS login')
    await pool.end()
    await expect(connect(databaseUrl)).rejects.toMatchObject({ code: 'database_url_invalid' })
    await database.pool.query('DROP ROLE login_job_worker')
    expect(rows).toEqual([{ role: 'job_worker', login: 'login_job_worker' }])
  })

  it('[O6] that break while in use fail the next statement, and nothing else', async () => {
    const pool = createRolePool({ databaseUrl: database.url, role: 'router_worker', connectionsMax: 1 })
    const client = await pool.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const broken = new Promise((resolve) => client.once('end', resolve))
    await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid])
    await broken
    await expect(client.query('SELECT 1')).rejects.toThrow()
    client.release(true)
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })

  it('[O2] are refused when the role was not set', async () => {
    // A login with a role of its own set for the database wins over nothing; a pooler that drops options looks like this.
    const pool = createRolePool({ databaseUrl: database.url, role: 'router_worker', connectionsMax: 1 })
    pool.options.connectionString = database.url
    await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'permission_denied' })
    await pool.end()
  })
})

describe('readiness', () => {
  it('[G11] reports a schema that is newer, older, absent or of a development version', async () => {
    const migrations = await loadMigrations(migrationsFolder)
    const pool = database.as('schema_maintainer')
    expect(await checkReadiness(pool, migrations)).toEqual([])
    expect(await checkReadiness(pool, migrations.slice(1))).toMatchObject([{ code: 'schema_newer' }])
    const future = { ...migrations[0], version: 99 } as (typeof migrations)[number]
    expect(await checkReadiness(pool, [...migrations, future])).toMatchObject([{ code: 'schema_outdated' }])
    const renamed = migrations.map((migration) => ({ ...migration, name: `${migration.name}_again` }))
    expect(await checkReadiness(pool, renamed)).toMatchObject([{ code: 'schema_unreleased' }])
    await database.pool.query('ALTER SCHEMA sagapost RENAME TO elsewhere')
    expect(await checkReadiness(pool, migrations)).toMatchObject([{ code: 'schema_outdated' }])
    await database.pool.query('ALTER SCHEMA elsewhere RENAME TO sagapost')
  })

  it('[O3] reports a database that cannot be reached', async () => {
    const pool = createRolePool({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/nowhere',
      role: 'router_worker',
      connectionsMax: 1,
    })
    expect(await checkReadiness(pool, [])).toMatchObject([{ code: 'database_unreachable' }])
    await pool.end()
  })
})
