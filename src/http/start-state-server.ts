import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import { checkReadiness, createRolePool, loadMigrations, migrationsFolder } from '../database/index.js'
import { parseAllowedCidrs } from '../https/index.js'
import type { StateOptions } from './api.js'
import { buildStateServer } from './build-server.js'
import { type HttpServer, startHttpServer } from './start-http-server.js'

export interface StateServerOptions {
  databaseUrl: string
  config: Pick<Config, 'host' | 'port' | 'apiKey' | 'trustedProxies'>
  log: Logger
  metrics: StateOptions['metrics']
}

/** Health, readiness and metrics of a process that runs parts without the API, for whoever supervises it. */
export async function startStateServer(options: StateServerOptions): Promise<HttpServer> {
  const { databaseUrl, config, log, metrics } = options
  const reads = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1 })
  const keys = createRolePool({ databaseUrl, role: 'api_key_admin', connectionsMax: 1 })
  const endPools = () => Promise.all([reads.end(), keys.end()])
  try {
    const migrations = await loadMigrations(migrationsFolder)
    const api = buildStateServer({
      pools: { keys },
      apiKey: config.apiKey,
      trustedProxies: parseAllowedCidrs(config.trustedProxies, 'SAGAPOST_TRUSTED_PROXIES'),
      log,
      checkReadiness: () => checkReadiness(reads, migrations),
      metrics,
    })
    const server = await startHttpServer(api, config)
    return {
      url: server.url,
      async stop() {
        await server.stop()
        await endPools()
      },
    }
  } catch (error) {
    await endPools()
    throw error
  }
}
