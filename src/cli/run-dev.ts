import { once } from 'node:events'
import pc from 'picocolors'
import { readConfig } from '../config/index.js'
import {
  checkReadiness,
  createRolePool,
  keepPartitionsAhead,
  loadMigrations,
  migrate,
  migrationsFolder,
} from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { startHttpServer } from '../http/index.js'
import { openDatabase } from './open-database.js'

/** Everything in one process until a signal ends it. What was started is stopped in reverse order, whatever fails. */
export async function runDev(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const config = readConfig(env)
  const stopped = stopSignal()
  const stops: (() => Promise<void>)[] = []
  try {
    const startedAt = performance.now()
    const { url, embedded } = await openDatabase(config)
    if (embedded) {
      stops.push(() => embedded.stop())
      const tookMs = Math.round(performance.now() - startedAt)
      console.log(`PostgreSQL ${embedded.version} runs in ${embedded.dataDir} (up in ${tookMs} ms)`)
    }

    const applied = await migrate({
      databaseUrl: url,
      onWaiting: () => console.error('Another migrator is at work; waiting for it'),
    })
    if (applied.length > 0) console.log(`Schema brought to version ${applied.at(-1)?.version}`)

    const migrations = await loadMigrations(migrationsFolder)
    const maintenance = createRolePool({ databaseUrl: url, role: 'schema_maintainer', connectionsMax: 2 })
    stops.push(() => maintenance.end())
    const partitions = keepPartitionsAhead({
      pool: maintenance,
      onError: (error) => console.error(`Making partitions failed, will try again: ${error.message}`),
    })
    stops.push(() => partitions.stop())

    const server = await startHttpServer({
      ...config,
      checkReadiness: () => checkReadiness(maintenance, migrations),
    })
    stops.push(() => server.stop())
    console.log(`${pc.bold('Sagapost')} is ready at ${pc.cyan(server.url)} ${pc.dim('(Ctrl-C stops it)')}`)

    const crashed = embedded?.exited.then(() => {
      throw new SagapostError(
        'embedded_postgres_failed',
        'The embedded PostgreSQL ended by itself; see postgres.log',
      )
    })
    await Promise.race([stopped, ...(crashed ? [crashed] : [])])
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

/** The first SIGINT or SIGTERM stops in order; a second one ends the process at once. */
async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}
