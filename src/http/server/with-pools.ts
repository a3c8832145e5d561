import type pg from 'pg'
import { abandonPool } from '../../database/index.js'
import type { HttpServer, ListeningServer } from './start-http-server.js'

/** The server together with its pools, which are closed after it. */
export function withPools(
  server: ListeningServer,
  pools: readonly pg.Pool[],
  endRest: () => Promise<unknown>,
): HttpServer {
  let stopped = false
  return {
    ...server,
    async stop(requestsMsMax) {
      await server.stop(requestsMsMax)
      await endRest()
      stopped = true
    },
    async abandon() {
      await Promise.all(pools.map(abandonPool))
    },
    isStopped: () => stopped,
  }
}
