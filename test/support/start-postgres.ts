import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate, startEmbeddedPostgres } from '../../src/database/index.js'
import { nativeDirOf } from './native-dir.js'

export const TEMPLATE = 'sagapost_template'

/** As long as the longest statement, and some more. */
const CRASH_LINES = 80

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the run's server, without a database that a test may use. */
    serverUrl: string
  }
}

/** One server per run and version, a template database migrated once; test/support/database.ts clones it. */
export default async function startPostgres(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), `sagapost-${project.name}-`))
  const server = await startEmbeddedPostgres({
    dataDir: join(dataDir, 'data'),
    ...(project.name === 'postgres-15' ? { nativeDir: nativeDirOf(15) } : {}),
    // Nothing here outlives the run: durability is given away for speed.
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_wal_size: '4GB',
      // Statistics change only on request; autovacuum takes no lock and changes no plan during a test.
      autovacuum: 'off',
      // End to end, some twenty processes have their pools here.
      max_connections: '300',
    },
  })
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${TEMPLATE}`)
  const template = new URL(server.url)
  template.pathname = TEMPLATE
  await migrate({ databaseUrl: template.href })
  await admin.query(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false`)
  await admin.end()

  project.provide('serverUrl', server.url)
  return async () => {
    await server.stop()
    await tellOfCrashes(join(dataDir, 'data', 'postgres.log'))
    await rm(dataDir, { recursive: true })
  }
}

/** A test only sees its connections end: the server's log has the statement that did it, and would be gone. */
async function tellOfCrashes(log: string): Promise<void> {
  const lines = (await readFile(log, 'utf8')).split('\n')
  const crash = lines.findIndex((line) => /was terminated by signal/.test(line))
  if (crash >= 0) console.error(lines.slice(crash, crash + CRASH_LINES).join('\n'))
}
