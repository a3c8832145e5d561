import { readConfig } from '../config/index.js'
import { requireMigrated } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { createLog } from '../observability/index.js'
import { type SystemPart, startSystem, systemParts } from '../runtime/index.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'

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
  const { masterKey } = config
  const log = createLog({ level: config.logLevel })
  await runUntilStopped(async (onStop) => {
    const { url, embedded } = await openDatabase(config)
    if (embedded) onStop(() => embedded.stop())
    await requireMigrated(url)
    const system = await startSystem({ databaseUrl: url, config: { ...config, masterKey }, only: parts, log })
    onStop(() => system.stop())
    log.info({ parts }, 'serving')
    return {}
  })
}

function readParts(only: string | undefined): readonly SystemPart[] {
  if (only === undefined) return systemParts
  return only.split(',').map((name) => {
    const known = systemParts.find((part) => part === name)
    if (known) return known
    throw new SagapostError('config_invalid', `--only knows ${systemParts.join(', ')}, not "${name}"`)
  })
}
