import pg from 'pg'
import { SagapostError } from '../errors/index.js'
import { connect } from './connect.js'
import { LOCK_TIMED_OUT } from './database-errors.js'
import { findForeignMigration } from './find-foreign-migration.js'
import { loadMigrations, type Migration, migrationsFolder } from './load-migrations.js'
import { databaseRoles } from './roles.js'

/** A migration that cannot get its lock gives up instead of blocking all traffic behind it. */
const LOCK_TIMEOUT_MS = 10_000

/** SQLSTATE of a write in a read-only transaction or on a standby. */
const READ_ONLY = '25006'

// CREATE SCHEMA IF NOT EXISTS asks for the right to create even when the schema is there. Another migrator may make both
// at the same moment: the schema's name is then taken when that one has committed, and the table is there with it.
const createVersionTable = `
  DO $$ BEGIN
    IF to_regnamespace('sagapost') IS NULL THEN CREATE SCHEMA sagapost; END IF;
  EXCEPTION WHEN duplicate_schema OR unique_violation THEN NULL;
  END $$;
  DO $$ BEGIN
    CREATE TABLE IF NOT EXISTS sagapost.saga_schema_version (
      version    integer     NOT NULL,
      name       text        NOT NULL,
      checksum   text        NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT saga_schema_version_pkey PRIMARY KEY (version)
    );
  EXCEPTION WHEN duplicate_table OR unique_violation THEN NULL;
  END $$`

// Keeps migrators apart, not readers. Who may only read the table cannot take a lock that this one waits for, while any
// login of the database can hold an advisory lock for ever.
const lockVersions = 'LOCK TABLE sagapost.saga_schema_version IN SHARE UPDATE EXCLUSIVE MODE'

const selectApplied = `SELECT version, name, checksum, applied_at FROM sagapost.saga_schema_version ORDER BY version`

const insertApplied = `INSERT INTO sagapost.saga_schema_version (version, name, checksum) VALUES ($1, $2, $3)`

interface Applied {
  version: number
  name: string
  checksum: string
  applied_at: Date
}

export interface MigrationState {
  version: number
  name: string
  appliedAt: Date | null
}

export interface MigrateOptions {
  databaseUrl: string
  /** The folder of the numbered files; the package's own unless a test sets another. */
  folder?: URL
  onApplied?: (migration: Migration) => void
  /** Another migrator holds the lock; this one continues when it has finished. */
  onWaiting?: () => void
  lockTimeoutMs?: number
}

/**
 * Migrates the schema to the newest version and returns the migrations that this run applied. Each file is one
 * transaction together with its record and the lock, so a failed one leaves nothing behind, and of any number of
 * concurrent migrators one applies each file. When nothing is pending, nothing is locked.
 */
export async function migrate({
  databaseUrl,
  folder = migrationsFolder,
  onApplied,
  onWaiting,
  lockTimeoutMs = LOCK_TIMEOUT_MS,
}: MigrateOptions): Promise<Migration[]> {
  const migrations = await loadMigrations(folder)
  const client = await connect(databaseUrl)
  try {
    await requireOwnSchema(client)
    const applied = await readApplied(client)
    if (applied === undefined) {
      await asMigrator(client, () => client.query(createVersionTable))
      await requireOwnSchema(client)
    }
    requireSameHistory(migrations, applied ?? [])
    const done: Migration[] = []
    let hasWaited = false
    const tellWaiting = () => {
      if (!hasWaited) onWaiting?.()
      hasWaited = true
    }
    for (let version = applied?.length ?? 0; version < migrations.length; ) {
      const migration = await applyNext(client, migrations, lockTimeoutMs, tellWaiting)
      if (migration === undefined) break
      version = migration.version
      done.push(migration)
      onApplied?.(migration)
    }
    return done
  } finally {
    await client.end()
  }
}

/** The output of `sagapost migrate --status`: every known version, applied or not. Changes nothing. */
export async function migrationStatus({
  databaseUrl,
  folder = migrationsFolder,
}: MigrateOptions): Promise<MigrationState[]> {
  const migrations = await loadMigrations(folder)
  const client = await connect(databaseUrl)
  try {
    const applied = (await readApplied(client)) ?? []
    requireSameHistory(migrations, applied)
    return migrations.map(({ version, name }, index) => ({
      version,
      name,
      appliedAt: applied[index]?.applied_at ?? null,
    }))
  } finally {
    await client.end()
  }
}

/**
 * Undefined when nothing was ever applied. An up-to-date database is only read, even when it is read-only or a standby.
 */
async function readApplied(client: pg.Client): Promise<Applied[] | undefined> {
  let applied: Applied[] | undefined
  await asMigrator(client, async () => {
    const { rows } = await client.query<{ present: boolean }>(
      `SELECT to_regclass('sagapost.saga_schema_version') IS NOT NULL AS present`,
    )
    if (rows[0]?.present) applied = (await client.query<Applied>(selectApplied)).rows
  })
  return applied
}

// A schema of that name that somebody else has made may hold what they like, triggers included.
const selectForeignOwner = `
  SELECT nspowner::regrole::text AS owner FROM pg_namespace
  WHERE nspname = 'sagapost' AND nspowner <> current_user::regrole
    AND NOT (pg_has_role(current_user, nspowner, 'MEMBER')
             AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))`

async function requireOwnSchema(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ owner: string }>(selectForeignOwner)
  if (rows[0] === undefined) return
  throw new SagapostError(
    'migration_not_permitted',
    `The schema sagapost belongs to ${rows[0].owner}, not to ${client.user}: migrate as its owner`,
  )
}

/** Undefined when other migrators have applied all pending migrations. */
async function applyNext(
  client: pg.Client,
  migrations: Migration[],
  lockTimeoutMs: number,
  onWaiting: () => void,
): Promise<Migration | undefined> {
  try {
    await asMigrator(client, () => beginLocked(client, onWaiting))
    const { rows: applied } = await client.query<Applied>(selectApplied)
    requireSameHistory(migrations, applied)
    const next = migrations[applied.length]
    if (next) await applyMigration(client, next, lockTimeoutMs)
    await client.query('COMMIT')
    return next
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Begins a transaction and takes the lock that excludes other migrators. */
async function beginLocked(client: pg.Client, onWaiting: () => void): Promise<void> {
  try {
    await client.query(`BEGIN; ${lockVersions} NOWAIT`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_TIMED_OUT) throw error
    onWaiting()
    await client.query('ROLLBACK')
    await client.query(`BEGIN; ${lockVersions}`)
  }
}

async function applyMigration(client: pg.Client, migration: Migration, lockTimeoutMs: number): Promise<void> {
  try {
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL client_min_messages = warning`)
    await asMigrator(client, () => client.query(migration.sql))
    await client.query(insertApplied, [migration.version, migration.name, migration.checksum])
  } catch (error) {
    if (error instanceof SagapostError) throw error
    const { code, message } = error as pg.DatabaseError
    throw new SagapostError(
      'migration_failed',
      `Migration ${migration.file} failed and was rolled back: ${message}${code ? ` (${code})` : ''}`,
      { cause: error },
    )
  }
}

/**
 * [G11] The applied migrations must be those of this release: the same names and numbers, with no file edited since.
 */
function requireSameHistory(migrations: Migration[], applied: Applied[]): void {
  const foreign = findForeignMigration(migrations, applied)
  if (foreign !== undefined) {
    throw new SagapostError(
      'schema_unreleased',
      `The database's schema was made by a development version of Sagapost (${foreign}), and no release can upgrade it: ` +
        'migrate an empty database, or delete the data and migrate again (DROP SCHEMA sagapost CASCADE; for the embedded ' +
        'database, remove the folder SAGAPOST_DATA_DIR, by default .sagapost)',
    )
  }
  for (const [index, row] of applied.entries()) {
    const migration = migrations[index]
    if (!migration || row.version !== migration.version) {
      throw new SagapostError(
        'schema_newer',
        `The database's schema (version ${applied.at(-1)?.version}) is newer than this release knows ` +
          `(version ${migrations.length}): run the release that migrated it, or a later one`,
      )
    }
    if (row.checksum !== migration.checksum) {
      throw new SagapostError(
        'migration_edited',
        `Migration ${migration.file} was edited after it had been applied: put it back and add a new file instead`,
      )
    }
  }
}

/** Runs work that needs a migrator's rights; names the missing right when it is refused. */
async function asMigrator(client: pg.Client, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === READ_ONLY) {
      throw new SagapostError(
        'migration_failed',
        `The database takes no writes (${error.message}): it is a standby, or default_transaction_read_only is on`,
        { cause: error },
      )
    }
    if (!(error instanceof pg.DatabaseError) || error.code !== '42501') throw error
    const missing = await missingRoles(client)
    throw new SagapostError(
      'migration_not_permitted',
      `User ${client.user} may not migrate (${error.message}). It needs CREATE on database ${client.database}, and ` +
        (missing.length > 0
          ? `CREATEROLE or these roles made and granted to it beforehand: ${missing.join(', ')}`
          : 'ownership of the schema sagapost'),
      { cause: error },
    )
  }
}

async function missingRoles(client: pg.Client): Promise<string[]> {
  await client.query('ROLLBACK').catch(() => {})
  const { rows } = await client.query<{ role: string }>(
    `SELECT role FROM unnest($1::text[]) AS role
     WHERE to_regrole(role) IS NULL OR NOT pg_has_role(current_user, role, 'MEMBER')`,
    [databaseRoles],
  )
  return rows.map(({ role }) => role)
}
