import { readConfig } from '../config/index.js'
import { requireMigrated } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { createLog } from '../observability/index.js'
import { type SystemPart, startSystem, systemParts } from '../runtime/index.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'

/** The default time that load balancers take to notice that a process is not ready. */
const DRAIN_MS = 5_000
const DRAIN_SHARE_MAX = 0.2

/** Runs the parts under a supervisor, on a migrated schema; logs JSON lines to stdout. */
export async function runServe(
  env: Readonly<Record<string, string | undefined>>,
  { only }: { only?: string },
): Promise<void> {
  const config = readConfig(env)
  const parts = readParts(only)
  if (config.masterKey === undefined || config.apiKey === undefined) {
    throw new SagapostError('config_invalid', 'serve needs SAGAPOST_API_KEY and SAGAPOST_MASTER_KEY')
  }
  const { masterKey, stopDeadlineMs } = config
  const drainDelayMs = config.drainDelayMs ?? Math.min(DRAIN_MS, stopDeadlineMs * DRAIN_SHARE_MAX)
  const log = createLog({ level: config.logLevel })
  const serve: Parameters<typeof runUntilStopped>[0] = async (onStop) => {
    const { url, embedded } = await openDatabase(config)
    if (embedded) onStop(() => embedded.stop())
    await requireMigrated(url)
    const system = await startSystem({
      databaseUrl: url,
      config: { ...config, masterKey, drainDelayMs },
      only: parts,
      log,
    })
    onStop(async () => (await system.stop()).givenUp.length === 0)
    log.info({ parts }, 'serving')
    return {}
  }
  await runUntilStopped(serve, { deadlineMs: stopDeadlineMs })
}

function readParts(only: string | undefined): readonly SystemPart[] {
  if (only === undefined) return systemParts
  return only.split(',').map((name) => {
    const known = systemParts.find((part) => part === name)
    if (known) return known
    throw new SagapostError('config_invalid', `--only accepts ${systemParts.join(', ')}, not "${name}"`)
  })
}
