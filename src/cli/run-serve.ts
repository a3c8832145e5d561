import { pino } from 'pino'
import { readConfig } from '../config/index.js'
import { checkReadiness, createRolePool, loadMigrations, migrationsFolder } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { startApi } from '../http/index.js'
import { type PartName, partNames, startParts } from '../runtime/index.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'

const servable = ['api', ...partNames] as const

/** The parts as a supervisor runs them, on a schema that is there; logs as JSON lines on stdout. */
export async function runServe(
  env: Readonly<Record<string, string | undefined>>,
  { only }: { only?: string },
): Promise<void> {
  const config = readConfig(env)
  const parts = readParts(only)
  if (config.masterKey === undefined || config.apiKey === undefined) {
    throw new SagapostError('config_invalid', 'serve needs SAGAPOST_API_KEY and SAGAPOST_MASTER_KEY')
  }
  const { masterKey, apiKey } = config
  const log = pino()
  await runUntilStopped(async (onStop) => {
    const { url, embedded } = await openDatabase(config)
    if (embedded) onStop(() => embedded.stop())
    const migrations = await loadMigrations(migrationsFolder)
    const readiness = createRolePool({ databaseUrl: url, role: 'saga_readonly_role', connectionsMax: 1 })
    onStop(() => readiness.end())
    const [obstacle] = await checkReadiness(readiness, migrations)
    if (obstacle && obstacle.code !== 'partition_headroom_low')
      throw new SagapostError(obstacle.code, obstacle.detail)

    const running = await startParts({
      databaseUrl: url,
      config: { ...config, masterKey },
      only: partNames.filter((name) => parts.includes(name)),
      log,
    })
    onStop(() => running.stop())
    if (parts.includes('api')) {
      const server = await startApi({
        databaseUrl: url,
        config: { ...config, masterKey, apiKey },
        log,
        wakeups: running.wakeups,
      })
      onStop(() => server.stop())
      log.info({ url: server.url }, 'listening')
    }
    log.info({ parts }, 'serving')
    return {}
  })
}

function readParts(only: string | undefined): readonly ('api' | PartName)[] {
  if (only === undefined) return servable
  const names = only.split(',')
  const unknown = names.find((name) => !(servable as readonly string[]).includes(name))
  if (unknown !== undefined) {
    throw new SagapostError('config_invalid', `--only knows ${servable.join(', ')}, not "${unknown}"`)
  }
  return names as ('api' | PartName)[]
}
