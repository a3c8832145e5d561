import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import {
  createRolePool,
  databaseRoles,
  type EmbeddedPostgres,
  migrate,
  startEmbeddedPostgres,
} from '../../src/database/index.js'
import { nativeDirOf } from '../support/native-dir.js'

/** Roles belong to the cluster, and the run's own has them all: what happens without them needs a cluster of its own. */
let folder: string
let server: EmbeddedPostgres

beforeAll(async () => {
  const admin = new pg.Client({ connectionString: inject('serverUrl') })
  await admin.connect()
  const { rows } = await admin.query(`SELECT current_setting('server_version_num')::int / 10000 AS major`)
  await admin.end()
  folder = await mkdtemp(join(tmpdir(), 'sagapost-fresh-'))
  server = await startEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    ...(rows[0].major === 15 ? { nativeDir: nativeDirOf(15) } : {}),
    settings: { fsync: 'off' },
  })
})

afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

async function asSuperuser(sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

function urlOf(login: string, database: string): string {
  const url = new URL(server.url)
  url.username = login
  url.password = 'test'
  url.pathname = database
  return url.href
}

it('[O2] a login that may not create roles gets one line with all missing roles, and nothing is left behind', async () => {
  await asSuperuser(`CREATE ROLE plain LOGIN PASSWORD 'test'`)
  await asSuperuser(`CREATE DATABASE plain OWNER plain`)
  const error = await migrate({ databaseUrl: urlOf('plain', 'plain') }).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: 'migration_not_permitted' })
  for (const role of databaseRoles) expect((error as Error).message).toContain(role)
  expect((error as Error).message).not.toContain('\n')
  const { rows } = await asSuperuser(
    `SELECT rolname FROM pg_roles WHERE rolname = ANY ('{${databaseRoles.join(',')}}')`,
  )
  expect(rows).toEqual([])
})

it('[O2] a login with CREATEROLE creates the roles, and every part works under its own through that login', async () => {
  await asSuperuser(`CREATE ROLE maker LOGIN CREATEROLE PASSWORD 'test'`)
  await asSuperuser(`CREATE DATABASE made OWNER maker`)
  const databaseUrl = urlOf('maker', 'made')
  await migrate({ databaseUrl })
  for (const role of databaseRoles) {
    const pool = createRolePool({ databaseUrl, role, connectionsMax: 1 })
    const { rows } = await pool.query('SELECT current_user, session_user')
    expect(rows).toEqual([{ current_user: role, session_user: 'maker' }])
    await pool.end()
  }
})

it('[O2] two databases of one cluster can be migrated at the same moment, roles included', async () => {
  await asSuperuser('DROP DATABASE made')
  for (const role of databaseRoles) await asSuperuser(`DROP ROLE ${role}`)
  await asSuperuser('CREATE DATABASE one OWNER maker')
  await asSuperuser('CREATE DATABASE two OWNER maker')
  const urls = ['one', 'two'].map((name) => urlOf('maker', name))
  const applied = await Promise.all(urls.map((databaseUrl) => migrate({ databaseUrl })))
  expect(applied.map((each) => each.length > 0)).toEqual([true, true])
  const pool = createRolePool({
    databaseUrl: urls[1] as string,
    role: 'schema_maintainer',
    connectionsMax: 1,
  })
  await pool.query('SELECT sagapost.ensure_partitions()')
  await pool.end()
})
