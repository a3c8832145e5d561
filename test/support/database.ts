import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { createRolePool, type DatabaseRole } from '../../src/database/index.js'
import { TEMPLATE } from './start-postgres.js'

export interface TestDatabase {
  /** As the owner of the schema, who is also a superuser. */
  readonly pool: pg.Pool
  readonly url: string
  readonly serverMajor: number
  /** A pool under one part's role; ended with the file. */
  as(role: DatabaseRole): pg.Pool
}

/**
 * A database of the test file's own, cloned from the migrated template (or empty, for tests of the migrator).
 * Fails the file when it leaves a connection behind.
 */
export function useDatabase({ migrated = true } = {}): TestDatabase {
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = new URL(inject('serverUrl'))
  const serverUrl = url.href
  url.pathname = name
  const rolePools = new Map<DatabaseRole, pg.Pool>()
  let pool: pg.Pool
  let serverMajor: number

  beforeAll(async () => {
    // Copied file by file, not block by block through the log: a third of the time.
    await onServer(serverUrl, (admin) =>
      admin.query(`CREATE DATABASE ${name} ${migrated ? `TEMPLATE ${TEMPLATE}` : ''} STRATEGY FILE_COPY`),
    )
    pool = new pg.Pool({ connectionString: url.href, max: 10 })
    pool.on('error', () => {})
    const { rows } = await pool.query(`SELECT current_setting('server_version_num')::int / 10000 AS major`)
    serverMajor = rows[0].major
  })

  afterAll(async () => {
    await Promise.all([pool, ...rolePools.values()].map((each) => each?.end()))
    await onServer(serverUrl, async (admin) => {
      await waitUntilUnused(admin, name)
      await admin.query(`DROP DATABASE ${name}`)
    })
  })

  return {
    get pool() {
      return pool
    },
    get serverMajor() {
      return serverMajor
    },
    url: url.href,
    as(role) {
      const existing = rolePools.get(role)
      if (existing) return existing
      const created = createRolePool({ databaseUrl: url.href, role, connectionsMax: 4 })
      rolePools.set(role, created)
      return created
    },
  }
}

async function onServer(serverUrl: string, work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl })
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

const UNUSED_MS_MAX = 60_000

/** Connections that were ended take a moment to go; one that stays is a leak of the test file. */
async function waitUntilUnused(admin: pg.Client, database: string): Promise<void> {
  let open: string[] = []
  for (const endsAt = performance.now() + UNUSED_MS_MAX; performance.now() < endsAt; ) {
    const { rows } = await admin.query(
      `SELECT application_name || ': ' || query AS what, pg_sleep(0.02)::text FROM pg_stat_activity
       WHERE datname = $1 AND backend_type = 'client backend'`,
      [database],
    )
    if (rows.length === 0) return
    open = rows.map(({ what }) => what)
  }
  await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
  throw new Error(`the test file left ${open.length} connections open: ${open.join('; ')}`)
}
