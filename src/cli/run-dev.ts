import pc from 'picocolors'
import { readConfig } from '../config/index.js'
import { migrate } from '../database/index.js'
import { SagapostError } from '../errors/index.js'
import { createLog } from '../observability/index.js'
import { startSystem, systemParts } from '../runtime/index.js'
import { devApiKey } from './dev-api-key.js'
import { devMasterKey } from './dev-master-key.js'
import { noteDevServer } from './dev-server.js'
import { keepCertificate } from './keep-certificate.js'
import { openDatabase } from './open-database.js'
import { runUntilStopped } from './run-until-stopped.js'
import { startDemo } from './start-demo.js'

const STDERR = 2
/** The address ranges of receivers on this machine. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '::1']

/** Runs all parts in one process for development. Receivers on this machine are allowed and trusted. */
export async function runDev(
  env: Readonly<Record<string, string | undefined>>,
  { demo }: { demo: boolean },
): Promise<void> {
  const given = readConfig(env)
  const run: Parameters<typeof runUntilStopped>[0] = async (onStop) => {
    const startedAt = performance.now()
    const { url, embedded } = await openDatabase(given)
    if (embedded) {
      onStop(() => embedded.stop())
      const tookMs = Math.round(performance.now() - startedAt)
      console.log(`PostgreSQL ${embedded.version} runs in ${embedded.dataDir} (started in ${tookMs} ms)`)
      const { port } = new URL(url)
      console.log(
        pc.dim(`  psql "postgres://sagapost:$(cat ${given.dataDir}/password)@127.0.0.1:${port}/sagapost"`),
      )
    }

    const applied = await migrate({
      databaseUrl: url,
      onWaiting: () => console.error('Another migration is running; waiting for it'),
    })
    if (applied.length > 0) console.log(`Schema migrated to version ${applied.at(-1)?.version}`)

    const certificate = await keepCertificate(given.dataDir, LOOPBACK_NAMES)
    const config = {
      ...given,
      masterKey: given.masterKey ?? (await devMasterKey(given.dataDir)),
      apiKey: given.apiKey ?? (await devApiKey(given.dataDir)),
      allowedCidrs: [given.allowedCidrs, ...LOOPBACK].join(' '),
    }
    const system = await startSystem({
      databaseUrl: url,
      config,
      only: systemParts,
      log: createLog({ level: config.logLevel ?? 'warn', destination: STDERR }),
      extraCertificateAuthorities: [certificate.certificateAuthority],
    })
    onStop(async () => (await system.stop()).givenUp.length === 0)
    const noted = await noteDevServer(given.dataDir, system.url ?? '')
    onStop(() => noted.remove())

    console.log(`${pc.bold('Sagapost')} is ready at ${pc.cyan(system.url)} ${pc.dim('(Ctrl-C to stop)')}`)
    console.log(pc.dim(`  API reference: ${system.url}/docs`))
    if (given.apiKey === undefined) console.log(`  API key: ${config.apiKey}`)
    if (demo) {
      // Not awaited: everything else works without it.
      const starting = startDemo({ databaseUrl: url, config, certificate, wakeups: system.wakeups }).catch(
        (error: Error) => console.error(`The demo did not start: ${error.message}`),
      )
      onStop(async () => (await starting)?.stop())
    }

    if (!embedded) return {}
    const crashed = embedded.exited.then((): never => {
      throw new SagapostError(
        'embedded_postgres_failed',
        'The embedded PostgreSQL exited unexpectedly; see postgres.log',
      )
    })
    return { crashed }
  }
  await runUntilStopped(run, { deadlineMs: given.stopDeadlineMs })
}
