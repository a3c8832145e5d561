import pc from 'picocolors'
import { readConfig } from '../config/index.js'
import {
  checkReadiness,
  createRolePool,
  loadMigrations,
  migrate,
  migrationsFolder,
} from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { startHttpServer } from '../http/index.js'
import { createLog, createMetrics } from '../observability/index.js'
import { partNames, startParts } from '../runtime/index.js'
import { devMasterKey } from './dev-master-key.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'

const STDERR = 2

/** Everything in one process, for a person at a terminal. */
export async function runDev(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const config = readConfig(env)
  await runUntilStopped(async (onStop) => {
    const startedAt = performance.now()
    const { url, embedded } = await openDatabase(config)
    if (embedded) {
      onStop(() => embedded.stop())
      const tookMs = Math.round(performance.now() - startedAt)
      console.log(`PostgreSQL ${embedded.version} runs in ${embedded.dataDir} (up in ${tookMs} ms)`)
      const { port } = new URL(url)
      console.log(
        pc.dim(`  psql "postgres://sagapost:$(cat ${config.dataDir}/password)@127.0.0.1:${port}/sagapost"`),
      )
    }

    const applied = await migrate({
      databaseUrl: url,
      onWaiting: () => console.error('Another migrator is at work; waiting for it'),
    })
    if (applied.length > 0) console.log(`Schema brought to version ${applied.at(-1)?.version}`)

    const parts = await startParts({
      databaseUrl: url,
      config: { ...config, masterKey: config.masterKey ?? (await devMasterKey(config.dataDir)) },
      only: partNames,
      metrics: createMetrics(),
      log: createLog({ level: config.logLevel ?? 'warn', destination: STDERR }),
    })
    onStop(() => parts.stop())

    const migrations = await loadMigrations(migrationsFolder)
    const readiness = createRolePool({ databaseUrl: url, role: 'saga_readonly_role', connectionsMax: 1 })
    onStop(() => readiness.end())
    const server = await startHttpServer({
      ...config,
      checkReadiness: () => checkReadiness(readiness, migrations),
    })
    onStop(() => server.stop())
    console.log(`${pc.bold('Sagapost')} is ready at ${pc.cyan(server.url)} ${pc.dim('(Ctrl-C stops it)')}`)

    if (!embedded) return {}
    const crashed = embedded.exited.then((): never => {
      throw new SagapostError(
        'embedded_postgres_failed',
        'The embedded PostgreSQL ended by itself; see postgres.log',
      )
    })
    return { crashed }
  })
}
