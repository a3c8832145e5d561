import pc from 'picocolors'
import { pino } from 'pino'
import { readConfig } from '../config/index.js'
import { migrate } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { startApi } from '../http/index.js'
import { partNames, startParts } from '../runtime/index.js'
import { devApiKey } from './dev-api-key.js'
import { devMasterKey } from './dev-master-key.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'

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

    const log = pino({ level: 'warn' }, pino.destination(2))
    const full = {
      ...config,
      masterKey: config.masterKey ?? (await devMasterKey(config.dataDir)),
      apiKey: config.apiKey ?? (await devApiKey(config.dataDir)),
    }
    const parts = await startParts({ databaseUrl: url, config: full, only: partNames, log })
    onStop(() => parts.stop())
    const api = await startApi({ databaseUrl: url, config: full, log, wakeups: parts.wakeups })
    onStop(() => api.stop())
    if (config.apiKey === undefined) console.log(`API key: ${full.apiKey}`)
    console.log(pc.dim(`  API reference: ${api.url}/docs`))
    console.log(`${pc.bold('Sagapost')} is ready at ${pc.cyan(api.url)} ${pc.dim('(Ctrl-C stops it)')}`)

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
