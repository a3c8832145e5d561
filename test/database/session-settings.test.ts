import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial } from 'node:net'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRolePool, loadMigrations, migrate, migrationsFolder } from '../../src/database/index.js'
import { useApi } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

/** The database's name, on a connection that was there before: a new one would begin with what is set. */
const nameOf = async (pool: pg.Pool) => (await pool.query('SELECT current_database() AS name')).rows[0].name

describe('a database that an operator has made read-only', () => {
  const database = useDatabase()
  const api = useApi(database)
  const publish = (payload: unknown) =>
    api.call('POST', '/v1/events', { body: { type: 'fence', payload } }).then(({ status }) => status)

  it('[O3] gets no write from us until it is writable again, and a migration finds nothing to do', async () => {
    const owner = await database.pool.connect()
    const name = await nameOf(owner as never)
    await owner.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    try {
      expect(await publish('behind the fence')).toBe(503)
      await expect(
        database.as('event_ingest_writer').query(`SELECT sagapost.publish('fence', '1')`),
      ).rejects.toMatchObject({ code: '25006' })
      expect(await migrate({ databaseUrl: database.url })).toEqual([])
    } finally {
      await owner.query(`ALTER DATABASE ${name} RESET ALL`)
      await owner.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      owner.release()
    }
    await expect.poll(() => publish('open')).toBe(202)
    const { rows } = await database.pool.query('SELECT payload FROM sagapost.events')
    expect(rows).toEqual([{ payload: 'open' }])
  })
})

describe('an empty database that an operator has made read-only', () => {
  const database = useDatabase({ migrated: false })

  it('[O3, G11] is not migrated', async () => {
    const owner = await database.pool.connect()
    const name = await nameOf(owner as never)
    await owner.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await expect(migrate({ databaseUrl: database.url })).rejects.toMatchObject({
      code: 'migration_failed',
      message: expect.stringMatching(/takes no writes .*default_transaction_read_only is on/),
    })
    await owner.query(`ALTER DATABASE ${name} RESET ALL`)
    owner.release()
    const applied = await migrate({ databaseUrl: database.url })
    expect(applied).toHaveLength((await loadMigrations(migrationsFolder)).length)
  })
})

describe('a login for each role', () => {
  const database = useDatabase()
  const login = `login_${process.pid}_job_worker`
  let poolerPort: number
  /** Passes all on, with a process id of its own in BackendKeyData ('K'), as poolers have one for each client. */
  const pooler = createServer((client) => {
    const { hostname, port } = new URL(database.url)
    const server = dial(Number(port), hostname)
    server.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(Buffer.from('K\0\0\0\x0c', 'latin1'))
      if (at >= 0) chunk.writeInt32BE(1, at + 5)
      client.write(chunk)
    })
    client.pipe(server)
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  const urlAt = (port: string | number) =>
    `postgres://login_${process.pid}_{role}:change-me@127.0.0.1:${port}${new URL(database.url).pathname}`
  const readThrough = async (port: string | number) => {
    const pool = createRolePool({
      databaseUrl: urlAt(port),
      role: 'job_worker',
      connectionsMax: 1,
      pinnedPlans: true,
    })
    try {
      const { rows } = await pool.query(
        `SELECT timestamptz '2026-01-31 08:15:00Z' AS at, current_setting('synchronous_commit') AS commit,
                current_setting('enable_sort') AS sort, current_setting('transaction_isolation') AS isolation`,
      )
      return rows[0]
    } finally {
      await pool.end()
    }
  }

  beforeAll(async () => {
    pooler.listen(0, '127.0.0.1')
    await once(pooler, 'listening')
    poolerPort = (pooler.address() as AddressInfo).port
    const owner = await database.pool.connect()
    const name = await nameOf(owner as never)
    await owner.query(`CREATE ROLE ${login} LOGIN PASSWORD 'change-me' IN ROLE job_worker`)
    await owner.query(`ALTER ROLE ${login} SET role = job_worker`)
    await owner.query(`ALTER DATABASE ${name} SET DateStyle = 'German, DMY'`)
    await owner.query(`ALTER DATABASE ${name} SET synchronous_commit = off`)
    await owner.query(`ALTER DATABASE ${name} SET extra_float_digits = 0`)
    await owner.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    owner.release()
  })
  afterAll(async () => {
    pooler.close()
    await database.pool.query(`DROP ROLE ${login}`)
  })

  it('[O3, S22] gets its settings with the first statement, where the connection is direct', async () => {
    expect(await readThrough(new URL(database.url).port)).toEqual({
      at: new Date('2026-01-31T08:15:00Z'),
      commit: 'on',
      sort: 'off',
      isolation: 'read committed',
    })
  })

  it('[O3, S22] must have its settings stored behind a pooler: it is refused with instructions, and works afterwards', async () => {
    const refusal = await readThrough(poolerPort).catch((error) => error)
    expect(refusal).toMatchObject({ code: 'login_settings_missing' })
    const statements = /needs these settings: (.*)$/.exec(refusal.message)?.[1] ?? ''
    expect(statements.split('; ').sort()).toEqual([
      `ALTER ROLE ${login} SET DateStyle = 'ISO, YMD'`,
      `ALTER ROLE ${login} SET default_transaction_isolation = 'read committed'`,
      // Times are read as numbers of 16 digits: with fewer, an event would have two webhook ids.
      `ALTER ROLE ${login} SET extra_float_digits = '1'`,
      `ALTER ROLE ${login} SET synchronous_commit = 'on'`,
    ])
    await database.pool.query(statements)
    expect(await readThrough(poolerPort)).toMatchObject({
      at: new Date('2026-01-31T08:15:00Z'),
      commit: 'on',
      isolation: 'read committed',
    })
  })
})
