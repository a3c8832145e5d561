import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import {
  databaseRoles,
  loadMigrations,
  migrate,
  migrationStatus,
  migrationsFolder,
} from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { countLockWaiters, withoutWaiting } from '../support/lock-waiters.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase({ migrated: false })
const databaseUrl = database.url

let folder: URL
beforeEach(async () => {
  const copy = await mkdtemp(join(tmpdir(), 'sagapost-migrations-'))
  await cp(migrationsFolder, copy, { recursive: true })
  folder = pathToFileURL(`${copy}/`)
})
afterEach(async () => {
  await database.pool.query('DROP SCHEMA IF EXISTS sagapost CASCADE')
  await rm(folder, { recursive: true })
})

const objects = async () => {
  const { rows } = await database.pool.query(
    `SELECT count(*)::int FROM pg_class WHERE relnamespace = to_regnamespace('sagapost')`,
  )
  return rows[0].count as number
}

const nextFile = async (sql: string) => {
  const number = (await loadMigrations(folder)).length + 1
  const file = `${String(number).padStart(4, '0')}_next.sql`
  await writeFile(new URL(file, folder), sql)
  return file
}

describe('migrate', () => {
  it('[G11] migrates an empty database to the newest version, records each file, and does nothing when run again', async () => {
    const migrations = await loadMigrations(folder)
    const applied = await migrate({ databaseUrl, folder })
    expect(applied.map(({ file }) => file)).toEqual(migrations.map(({ file }) => file))
    const { rows } = await database.pool.query(
      'SELECT version, name, checksum FROM sagapost.saga_schema_version ORDER BY 1',
    )
    expect(rows).toEqual(migrations.map(({ version, name, checksum }) => ({ version, name, checksum })))
    expect(await migrate({ databaseUrl, folder })).toEqual([])
  })

  it('[G11] several migrators can run at once: each file is applied once', async () => {
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate({ databaseUrl, folder })))
    const applied = runs.flat().map(({ version }) => version)
    const all = (await loadMigrations(folder)).map(({ version }) => version)
    expect(applied.sort((a, b) => a - b)).toEqual(all)
  })

  it('[G11] reports that it waits for a migrator at work, and continues after it', async () => {
    await migrate({ databaseUrl, folder })
    const file = await nextFile('CREATE TABLE sagapost.next (id int)')
    const other = await database.pool.connect()
    await other.query(`BEGIN; LOCK TABLE sagapost.saga_schema_version IN SHARE UPDATE EXCLUSIVE MODE`)
    const before = await objects()
    let waiting = 0
    const run = migrate({
      databaseUrl,
      folder,
      onWaiting: () => {
        waiting++
      },
    })
    await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
    expect([waiting, await objects()]).toEqual([1, before])
    other.release(true)
    expect((await run).map((applied) => applied.file)).toEqual([file])
  })

  it('[G11] waits for no other migrator where nothing is pending', async () => {
    await migrate({ databaseUrl, folder })
    const other = await database.pool.connect()
    await other.query(`BEGIN; LOCK TABLE sagapost.saga_schema_version IN SHARE UPDATE EXCLUSIVE MODE`)
    try {
      expect(await withoutWaiting(database.pool, migrate({ databaseUrl, folder }))).toEqual([])
    } finally {
      other.release(true)
    }
  })

  it('[O2] is not blocked by the role of any part, whatever that locks', async () => {
    await migrate({ databaseUrl, folder })
    const table = 'sagapost.saga_schema_version'
    for (const role of databaseRoles) {
      const client = await database.as(role).connect()
      const attempt = async (statement: string) => {
        await client.query('BEGIN')
        const outcome = await codeOf(client.query(statement))
        await client.query('ROLLBACK')
        return [role, statement, outcome]
      }
      try {
        for (const statement of [
          ...['SHARE UPDATE EXCLUSIVE', 'SHARE', 'ACCESS EXCLUSIVE'].map(
            (mode) => `LOCK TABLE ${table} IN ${mode} MODE NOWAIT`,
          ),
          `SELECT version FROM ${table} FOR KEY SHARE`,
        ]) {
          expect(await attempt(statement)).toEqual([role, statement, 'permission_denied'])
        }
        // What is left to it: reading, and any number of advisory locks.
        await client.query('BEGIN')
        await client.query('SELECT pg_advisory_lock($1)', [0x73616761])
        if (role !== 'event_publisher') await client.query(`LOCK TABLE ${table} IN ACCESS SHARE MODE`)
        const file = await nextFile('SELECT 1')
        const applied = await withoutWaiting(database.pool, migrate({ databaseUrl, folder }))
        expect(applied.map((migration) => migration.file)).toEqual([file])
      } finally {
        client.release(true)
      }
    }
  })

  it('[G11] does its work whatever the database has set for its sessions', async () => {
    // One connection for both: another, made in between, would keep the settings for itself.
    const owner = await database.pool.connect()
    const { rows } = await owner.query('SELECT current_database() AS name')
    await nextFile('SELECT pg_sleep(1.2)')
    for (const setting of [
      `search_path = nowhere`,
      `statement_timeout = '1s'`,
      `default_transaction_isolation = 'serializable'`,
    ]) {
      await owner.query(`ALTER DATABASE ${rows[0].name} SET ${setting}`)
    }
    try {
      expect((await migrate({ databaseUrl, folder })).length).toBeGreaterThan(0)
    } finally {
      await owner.query(`ALTER DATABASE ${rows[0].name} RESET ALL`)
      owner.release()
    }
  })

  it('[G11] refuses an applied migration that was edited and names the file; nothing is changed', async () => {
    await migrate({ databaseUrl, folder })
    await nextFile('CREATE TABLE sagapost.never (id int)')
    const file = new URL('0002_events.sql', folder)
    await writeFile(file, `${await readFile(file, 'utf8')}\n-- harmless?`)
    const before = await objects()
    await expect(migrate({ databaseUrl, folder })).rejects.toMatchObject({
      code: 'migration_edited',
      message: expect.stringContaining('0002_events.sql'),
    })
    await expect(migrationStatus({ databaseUrl, folder })).rejects.toMatchObject({ code: 'migration_edited' })
    expect(await objects()).toBe(before)
  })

  it('[G11] accepts other line ends for the same file', async () => {
    await migrate({ databaseUrl, folder })
    const file = new URL('0002_events.sql', folder)
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('\n', '\r\n'))
    expect(await migrate({ databaseUrl, folder })).toEqual([])
  })

  it('[G11] leaves nothing of a failed migration, keeps those before it, and continues when it is fixed', async () => {
    const failing = await nextFile(
      'CREATE TABLE sagapost.half (id int); SELECT 1 / 0; CREATE TABLE sagapost.whole (id int)',
    )
    await expect(migrate({ databaseUrl, folder })).rejects.toMatchObject({
      code: 'migration_failed',
      message: expect.stringMatching(new RegExp(`${failing}.*division by zero`)),
    })
    const { rows } = await database.pool.query(
      `SELECT to_regclass('sagapost.half') AS half, (SELECT max(version) FROM sagapost.saga_schema_version) AS version`,
    )
    expect(rows[0]).toEqual({ half: null, version: (await loadMigrations(folder)).length - 1 })
    await writeFile(new URL(failing, folder), 'CREATE TABLE sagapost.whole (id int)')
    expect((await migrate({ databaseUrl, folder })).map(({ file }) => file)).toEqual([failing])
  })

  it('[G11] refuses a schema that is newer than the release', async () => {
    await migrate({ databaseUrl, folder })
    const version = (await loadMigrations(folder)).length + 1
    await database.pool.query(`INSERT INTO sagapost.saga_schema_version VALUES ($1, 'future', 'x')`, [
      version,
    ])
    await expect(migrate({ databaseUrl, folder })).rejects.toMatchObject({ code: 'schema_newer' })
  })

  it('[G11] refuses the schema of a development version, says what can be done, and changes nothing', async () => {
    const older = pathToFileURL(`${await mkdtemp(join(tmpdir(), 'sagapost-older-'))}/`)
    const count = (await loadMigrations(folder)).length
    await cp(new URL('0001_clock_and_roles.sql', folder), new URL('0001_clock_and_roles.sql', older))
    for (let version = 2; version <= count + 1; version++) {
      const file = `${String(version).padStart(4, '0')}_patch_${version}.sql`
      await writeFile(new URL(file, older), `CREATE TABLE sagapost.patch_${version} (id int)`)
    }
    await migrate({ databaseUrl, folder: older })
    await rm(older, { recursive: true })
    const before = await objects()
    for (const work of [migrate, migrationStatus]) {
      await expect(work({ databaseUrl, folder })).rejects.toMatchObject({
        code: 'schema_unreleased',
        message: expect.stringMatching(
          /^[^\n]*its migration 2 is "patch_2", and that of this release is "events"[^\n]*empty database[^\n]*\.sagapost\)$/,
        ),
      })
    }
    expect(await objects()).toBe(before)
  })

  it('[G11] refuses a gap in the numbers before it changes anything', async () => {
    await rm(new URL('0003_subscriptions.sql', folder))
    await expect(migrate({ databaseUrl, folder })).rejects.toThrow(/expected a name like 0003_/)
    expect(await objects()).toBe(0)
  })

  it('[G11] gives up a lock that it cannot get, instead of blocking all other sessions', async () => {
    await migrate({ databaseUrl, folder })
    await nextFile('ALTER TABLE sagapost.events ADD COLUMN extra int')
    const publisher = await database.pool.connect()
    try {
      await publisher.query('BEGIN')
      await publisher.query(`SELECT sagapost.publish('order.placed', '{}')`)
      await expect(migrate({ databaseUrl, folder, lockTimeoutMs: 50 })).rejects.toMatchObject({
        code: 'migration_failed',
        message: expect.stringContaining('lock timeout'),
      })
    } finally {
      publisher.release(true)
    }
  })
})

describe('objects of other users in the schema', () => {
  it('[O2] a better matching function of another user is not called with the rights of the migrator', async () => {
    await database.pool.query(`
      CREATE TABLE public.called (by text);
      CREATE FUNCTION public.pg_has_role(name, text, text) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO public.called VALUES (current_user); RETURN true; END $$`)
    try {
      await migrate({ databaseUrl, folder })
      expect((await database.pool.query('SELECT * FROM public.called')).rows).toEqual([])
    } finally {
      await database.pool.query('DROP FUNCTION public.pg_has_role; DROP TABLE public.called')
    }
  })

  it('[O2] a schema that another login owns is not taken over', async () => {
    await database.pool.query('CREATE SCHEMA sagapost AUTHORIZATION saga_readonly_role')
    await expect(migrate({ databaseUrl, folder })).rejects.toMatchObject({
      code: 'migration_not_permitted',
      message: expect.stringContaining('belongs to saga_readonly_role'),
    })
    expect(await objects()).toBe(0)
  })

  it('[O3] backslashes have their standard meaning, whatever the database setting', async () => {
    const owner = await database.pool.connect()
    const { rows } = await owner.query('SELECT current_database() AS name')
    await owner.query(`ALTER DATABASE ${rows[0].name} SET standard_conforming_strings = off`)
    try {
      await migrate({ databaseUrl, folder })
    } finally {
      await owner.query(`ALTER DATABASE ${rows[0].name} RESET ALL`)
      owner.release()
    }
    const { rows: headroom } = await database.pool.query('SELECT headroom FROM sagapost.partition_headroom()')
    expect(Number(headroom[0].headroom)).toBeGreaterThan(0)
  })
})

describe('migrationStatus', () => {
  it('[G11] lists every version, before and after, and changes nothing', async () => {
    const before = await migrationStatus({ databaseUrl, folder })
    expect(before.every(({ appliedAt }) => appliedAt === null)).toBe(true)
    expect(await objects()).toBe(0)
    await migrate({ databaseUrl, folder })
    await nextFile('SELECT 1')
    const after = await migrationStatus({ databaseUrl, folder })
    expect(after.map(({ appliedAt }) => appliedAt instanceof Date)).toEqual([
      ...before.map(() => true),
      false,
    ])
  })
})

describe('a login that is no superuser', () => {
  const logins: string[] = []
  const loginUrl = async (name: string, attributes: string) => {
    const { rows } = await database.pool.query('SELECT current_database() AS name')
    const login = `${name}_${rows[0].name}`
    await database.pool.query(`CREATE ROLE ${login} LOGIN PASSWORD 'test' ${attributes}`)
    logins.push(login)
    const url = new URL(databaseUrl)
    url.username = login
    url.password = 'test'
    return { login, url: url.href }
  }
  const grantCreate = async (login: string) => {
    const { rows } = await database.pool.query('SELECT current_database() AS name')
    await database.pool.query(`GRANT CREATE ON DATABASE ${rows[0].name} TO ${login}`)
  }
  afterAll(async () => {
    const client = new pg.Client({ connectionString: inject('serverUrl') })
    const own = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    await own.connect()
    for (const login of logins) {
      await own.query(`DROP OWNED BY ${login} CASCADE`)
      await client.query(`DROP ROLE ${login}`)
    }
    await own.end()
    await client.end()
  })

  it('[O2] migrates without CREATEROLE when it was granted the roles beforehand', async () => {
    const { login, url } = await loginUrl('granted', 'NOCREATEROLE')
    await grantCreate(login)
    for (const role of (await import('../../src/database/index.js')).databaseRoles) {
      await database.pool.query(`GRANT ${role} TO ${login}`)
    }
    expect((await migrate({ databaseUrl: url, folder })).length).toBeGreaterThan(0)
    await database.pool.query('DROP SCHEMA sagapost CASCADE')
  })

  it('[O2] is told in one line which roles it lacks and may not create', async () => {
    const { login, url } = await loginUrl('poor', 'NOCREATEROLE')
    await grantCreate(login)
    const error = await migrate({ databaseUrl: url, folder }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'migration_not_permitted' })
    expect((error as Error).message).toMatch(/CREATEROLE.*event_ingest_writer/)
    expect((error as Error).message).not.toContain('\n')
  })

  it('[O2] is told that it needs CREATE on the database', async () => {
    const { url } = await loginUrl('barred', 'NOCREATEROLE')
    await expect(migrate({ databaseUrl: url, folder })).rejects.toMatchObject({
      code: 'migration_not_permitted',
      message: expect.stringContaining('CREATE on database'),
    })
  })
})

it('[O2] a second database of the cluster finds the roles and gets its own grants', async () => {
  // The template has been migrated on this server before; these are the same roles.
  await migrate({ databaseUrl, folder })
  const { rows } = await database.pool.query(
    `SELECT has_table_privilege('job_worker', 'sagapost.events', 'SELECT') AS granted`,
  )
  expect(rows[0].granted).toBe(true)
})
