import type { Logger } from 'pino'
import type { Config } from '../../config/index.js'
import { createReadiness, createRolePool, type DatabaseWatch } from '../../database/index.js'
import { parseAllowedCidrs } from '../../webhook/index.js'
import type { StateOptions } from '../api.js'
import { buildStateServer } from './build-server.js'
import { type HttpServer, startHttpServer } from './start-http-server.js'
import { withPools } from './with-pools.js'

export interface StateServerOptions {
  databaseUrl: string
  config: Pick<Config, 'host' | 'port' | 'apiKey' | 'trustedProxies'>
  log: Logger
  metrics: StateOptions['metrics']
  watch: DatabaseWatch
}

/** Serves health, readiness and metrics of a process that runs parts without the API. */
export async function startStateServer(options: StateServerOptions): Promise<HttpServer> {
  const { databaseUrl, config, log, metrics, watch } = options
  const keys = createRolePool({ databaseUrl, role: 'api_key_admin', connectionsMax: 1, watch })
  const readiness = await createReadiness({ databaseUrl, log, watch })
  const pools = [readiness.pool, keys]
  const endPools = () => Promise.all(pools.map((pool) => pool.end()))
  try {
    const api = buildStateServer({
      pools: { keys },
      apiKey: config.apiKey,
      trustedProxies: parseAllowedCidrs(config.trustedProxies, 'SAGAPOST_TRUSTED_PROXIES'),
      log,
      checkReadiness: readiness.check,
      metrics,
    })
    const server = await startHttpServer(api, config, readiness.drain)
    return withPools(server, pools, endPools)
  } catch (error) {
    await endPools()
    throw error
  }
}
