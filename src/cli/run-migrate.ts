import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../config/index.js'
import {
  loadMigrations,
  type MigrationState,
  migrate,
  migrationStatus,
  migrationsFolder,
} from '../database/index.js'
import { visitDatabase } from './open-database.js'
import { print } from './print-list.js'
import { complain, type Terminal } from './terminal.js'
import { toJson } from './to-json.js'

export async function runMigrate(
  terminal: Terminal,
  { status, json }: { status?: true; json?: true },
): Promise<void> {
  const config = readConfig(terminal.env)
  if (status && config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'postgres'))) {
    // --status must not create a database.
    const states = (await loadMigrations(migrationsFolder)).map(({ version, name }) => ({
      version,
      name,
      appliedAt: null,
    }))
    await print(terminal, json ? toJson({ migrations: states }) : formatStates(states))
    return
  }
  const { url, embedded } = await visitDatabase(config)
  try {
    if (status) {
      const states = await migrationStatus({ databaseUrl: url })
      await print(terminal, json ? toJson({ migrations: states }) : formatStates(states))
      return
    }
    const applied = await migrate({
      databaseUrl: url,
      onApplied: ({ file }) => json || void print(terminal, `applied ${file}`),
      onWaiting: () => complain(terminal, 'Another migration is running; waiting for it'),
    })
    if (json)
      await print(terminal, toJson({ applied: applied.map(({ version, name }) => ({ version, name })) }))
    else if (applied.length === 0) await print(terminal, 'The schema is up to date')
  } finally {
    await embedded?.stop()
  }
}

function formatStates(states: MigrationState[]): string {
  const width = Math.max(...states.map(({ name }) => name.length))
  return states
    .map(({ version, name, appliedAt }) =>
      [
        String(version).padStart(4, '0'),
        name.padEnd(width),
        appliedAt ? `applied ${appliedAt.toISOString()}` : 'pending',
      ].join('  '),
    )
    .join('\n')
}
