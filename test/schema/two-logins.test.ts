import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import {
  createRolePool,
  databaseRoles,
  type EmbeddedPostgres,
  loadMigrations,
  migrate,
  migrationsFolder,
  startEmbeddedPostgres,
} from '../../src/database/index.js'
import { compareSchema, examineSystem, type Finding } from '../../src/doctor/index.js'
import { nativeDirOf } from '../support/native-dir.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const page = await readFile(new URL('../../docs/operating/database.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```sql\n(.*?)^```/gms)].map(([, block = '']) => block)
const blockWith = (text: string) => blocks.find((block) => block.includes(text)) ?? ''
const makeLogins = blockWith('CREATE ROLE sagapost_owner')
const handOver = blockWith('OWNER TO sagapost_owner')
const limit = blockWith('CONNECTION LIMIT')

const OWNER = 'sagapost_owner'
const LOGIN = 'sagapost_login'
const PASSWORD = 'change-me'
const rolesOfParts = databaseRoles.filter((role) => role !== 'event_publisher')

let folder: string
let server: EmbeddedPostgres

/** Roles belong to the cluster: what the page makes needs one of its own. */
beforeAll(async () => {
  const { rows } = await query(inject('serverUrl'), `SELECT current_setting('server_version_num')::int AS v`)
  folder = await mkdtemp(join(tmpdir(), 'sagapost-logins-'))
  server = await startEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    ...(rows[0].v < 160_000 ? { nativeDir: nativeDirOf(15) } : {}),
    settings: { fsync: 'off', max_connections: '200' },
  })
  await query(server.url, `CREATE ROLE administrator LOGIN CREATEROLE PASSWORD '${PASSWORD}'`)
  await query(server.url, 'CREATE DATABASE app OWNER administrator')
  await query(urlOf('administrator'), makeLogins)
  await migrate({ databaseUrl: urlOf(OWNER) })
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

function urlOf(login: string, database = 'app'): string {
  const url = new URL(server.url)
  url.username = login
  url.password = PASSWORD
  url.pathname = database
  return url.href
}

async function query(databaseUrl: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return await client.query(sql).finally(() => client.end())
}

async function as<Result>(
  login: string,
  role: (typeof databaseRoles)[number],
  work: (pool: pg.Pool) => Promise<Result>,
  database = 'app',
  applicationName = `sagapost ${role}`,
): Promise<Result> {
  const databaseUrl = urlOf(login, database)
  const pool = createRolePool({ databaseUrl, role, connectionsMax: 1, applicationName })
  return await work(pool).finally(() => pool.end())
}

describe('an owner and a login', () => {
  const sagapost = useSagapost({
    get url() {
      return urlOf(LOGIN)
    },
  })

  it('[O2, O6] the login serves all parts: an event over HTTP and one in SQL are delivered', async () => {
    const { subscriptions, events } = createClient({ baseUrl: sagapost.url, apiKey: adminKey })
    const { id } = await subscriptions.create({
      eventType: 'logins',
      callbackUrl: `${sagapost.receiver.url}hooks`,
    })
    expect(await subscriptions.verify(id)).toEqual({ verified: true, active: true })
    await events.publish({ type: 'logins', payload: 1 })
    await as(LOGIN, 'event_ingest_writer', (pool) => pool.query(`SELECT sagapost.publish('logins', '2')`))
    const statuses = async () =>
      (await query(urlOf(OWNER), 'SELECT status FROM sagapost.webhook_delivery_sagas')).rows
    await expect.poll(statuses).toEqual([{ status: 'Completed' }, { status: 'Completed' }])
    const { rows } = await query(
      server.url,
      `SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'sagapost %'`,
    )
    expect(rows).toEqual([{ usename: LOGIN }])
  })

  it('[O2] the login creates partitions by the function for it, and they belong to the owner', async () => {
    const before = await countPartitions()
    await query(urlOf(OWNER), 'UPDATE sagapost.partition_settings SET partitions_ahead = 4')
    await as(LOGIN, 'schema_maintainer', (pool) => pool.query('SELECT sagapost.ensure_partitions()'))
    expect(await countPartitions()).toBe(before + 2 * 4)
    const { rows } = await query(
      urlOf(OWNER),
      `SELECT DISTINCT relowner::regrole::text AS owner FROM pg_class WHERE relnamespace = 'sagapost'::regnamespace`,
    )
    expect(rows).toEqual([{ owner: OWNER }])
  })

  async function countPartitions(): Promise<number> {
    return (await query(urlOf(OWNER), 'SELECT count(*)::int AS count FROM sagapost.partitions')).rows[0].count
  }

  it.each([
    'ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing',
    'DROP TRIGGER truncate_is_refused ON sagapost.events',
    'ALTER TABLE sagapost.events ADD COLUMN extra text',
    'DROP TABLE sagapost.dead_letters',
    'DROP INDEX sagapost.idx_job_status_lease',
    'TRUNCATE sagapost.events',
    'ALTER TABLE sagapost.events DETACH PARTITION sagapost.events_from_0',
    'CREATE TABLE sagapost.events_from_9 PARTITION OF sagapost.events FOR VALUES FROM (9000000000) TO (9000000001)',
    `SELECT sagapost.make_partition('events', 9000000000, 9000000001)`,
    'CREATE TABLE sagapost.another (id int)',
    'UPDATE sagapost.partition_settings SET partitions_ahead = 2',
    'INSERT INTO sagapost.saga_schema_version (version, name, checksum) VALUES (9999, $$x$$, $$x$$)',
    'CREATE OR REPLACE FUNCTION sagapost.now() RETURNS timestamptz LANGUAGE sql RETURN pg_catalog.now()',
    'ALTER FUNCTION sagapost.ensure_partitions() SECURITY INVOKER',
    'GRANT job_worker TO event_publisher',
    'ALTER SCHEMA sagapost RENAME TO elsewhere',
    'DROP SCHEMA sagapost CASCADE',
    'CREATE SCHEMA mine',
    `SET session_replication_role = 'replica'`,
    'SET ROLE sagapost_owner',
    'ALTER ROLE sagapost_login CONNECTION LIMIT -1',
    'CREATE ROLE another',
  ])('[O2] the login may not, as itself or as any of its roles: %s', async (statement) => {
    const client = new pg.Client({ connectionString: urlOf(LOGIN) })
    await client.connect()
    try {
      const answers: unknown[] = []
      for (const role of ['NONE', ...rolesOfParts]) {
        await client.query(`BEGIN; SET LOCAL ROLE ${role}`)
        const code = await client.query(statement).then(
          () => 'done',
          (error: pg.DatabaseError) => error.code,
        )
        answers.push({ role, code })
        await client.query('ROLLBACK')
      }
      expect(answers).toEqual(['NONE', ...rolesOfParts].map((role) => ({ role, code: '42501' })))
    } finally {
      await client.end()
    }
  })

  it('[O2, G11] the login may not migrate', async () => {
    await expect(migrate({ databaseUrl: urlOf(LOGIN) })).rejects.toMatchObject({
      code: 'migration_not_permitted',
      message: expect.stringContaining(`belongs to ${OWNER}`),
    })
  })

  it('[O2, O6] the doctor finds nothing wrong with the logins, also when an administrator runs it', async () => {
    for (const login of [LOGIN, OWNER]) {
      expect(await findings(login)).toEqual([
        { check: 'roles', severity: 'ok', detail: 'the login can assume all 10 roles of the parts' },
      ])
    }
    // Which has grown no rights that the release does not give.
    expect(await as(LOGIN, 'saga_readonly_role', compareSchema)).toEqual([])
  })

  it('[O2, O6] the doctor names a login of a part that can work as the owner: login_owns_schema', async () => {
    const found = await as(OWNER, 'job_worker', async (pool) => {
      await pool.query('SELECT')
      return findings(LOGIN)
    })
    expect(found).toMatchObject([
      {
        code: 'login_owns_schema',
        severity: 'attention',
        detail: `the login ${OWNER} owns the schema, or can assume the role of its owner`,
      },
    ])
  })

  it('[O2] the limits of the page apply to both logins', async () => {
    await query(urlOf('administrator'), limit)
    const { rows } = await query(
      server.url,
      `SELECT rolname, rolconnlimit FROM pg_roles WHERE rolconnlimit >= 0 ORDER BY 1`,
    )
    expect(rows).toEqual([
      { rolname: LOGIN, rolconnlimit: 176 },
      { rolname: OWNER, rolconnlimit: 5 },
    ])
  })
})

describe('a schema that one login has created', () => {
  const DATABASE = 'single'

  it('[O2, G11] belongs to the owner after the statements of the page, who migrates it; the login keeps serving', async () => {
    const older = join(folder, 'older')
    await mkdir(older)
    const files = (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).sort()
    for (const file of files.slice(0, -2)) await cp(new URL(file, migrationsFolder), join(older, file))
    await query(
      server.url,
      `CREATE ROLE single LOGIN PASSWORD '${PASSWORD}' IN ROLE ${databaseRoles.join(', ')}`,
    )
    await query(server.url, `CREATE DATABASE ${DATABASE} OWNER single`)
    await migrate({ databaseUrl: urlOf('single', DATABASE), folder: pathToFileURL(`${older}/`) })

    await query(server.url, `GRANT CREATE ON DATABASE ${DATABASE} TO ${OWNER}`)
    await query(server.url, `CREATE ROLE manager LOGIN PASSWORD '${PASSWORD}' IN ROLE single, ${OWNER}`)
    await query(urlOf('manager', DATABASE), handOver)
    await query(server.url, `REVOKE CREATE ON DATABASE ${DATABASE} FROM ${OWNER}`)
    const applied = await migrate({ databaseUrl: urlOf(OWNER, DATABASE) })
    expect(applied).toHaveLength(2)
    expect(await as('single', 'saga_readonly_role', compareSchema, DATABASE)).toEqual([])
    expect(await findings('single', DATABASE)).toMatchObject([{ severity: 'ok' }])
    await expect(query(urlOf('single', DATABASE), 'DROP TABLE sagapost.events')).rejects.toMatchObject({
      code: '42501',
    })
    const { rows } = await as(
      'single',
      'event_ingest_writer',
      (pool) => pool.query(`SELECT sagapost.publish('handed-over', '1') AS id`),
      DATABASE,
    )
    expect(rows[0].id).toMatch(/^\d+$/)
  })
})

/** What the doctor says of the roles, asked through this login. */
async function findings(login: string, database = 'app'): Promise<Finding[]> {
  const found = await examineSystem({
    as: (role, work) => as(login, role, work, database, 'sagapost command'),
    migrations: await loadMigrations(migrationsFolder),
  })
  return found.filter(({ check }) => check === 'roles')
}
