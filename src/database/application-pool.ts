import pg from 'pg'
import { connectionDefaults, requireSingleLogin } from './connect.js'
import { GuardedClient } from './guarded-client.js'

const IDLE_CONNECTION_MS = 60_000

/**
 * Connections as the application itself would open them: under the login of the URL, with its own search path and the
 * types that `pg` gives everybody. What runs there is the application's.
 */
export function createApplicationPool({
  databaseUrl,
  connectionsMax,
}: {
  databaseUrl: string
  connectionsMax: number
}): pg.Pool {
  const { connectionTimeoutMillis, keepAlive } = connectionDefaults
  const pool = new pg.Pool({
    Client: GuardedClient,
    connectionTimeoutMillis,
    keepAlive,
    connectionString: requireSingleLogin(databaseUrl),
    application_name: 'sagapost saga transactions',
    max: connectionsMax,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
  })
  // As in role-pool.ts: whoever has a connection that breaks gets the error from its next statement.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
