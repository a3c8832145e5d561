import pg from 'pg'
import { connectionDefaults, requireSingleLogin } from './connect.js'
import type { DatabaseWatch } from './database-watch.js'
import { failLater } from './fail-later.js'
import { GuardedClient } from './guarded-client.js'
import { watchPool } from './watch-pool.js'

const IDLE_CONNECTION_MS = 60_000

/**
 * Opens connections as the application would: with the URL's login, its own search path and `pg`'s default types. They
 * run the application's code.
 */
export function createApplicationPool({
  databaseUrl,
  connectionsMax,
  watch,
}: {
  databaseUrl: string
  connectionsMax: number
  watch?: DatabaseWatch | undefined
}): pg.Pool {
  const { connectionTimeoutMillis, keepAlive } = connectionDefaults
  const pool = new pg.Pool({
    connectionTimeoutMillis,
    keepAlive,
    Client: failLater(GuardedClient),
    connectionString: requireSingleLogin(databaseUrl),
    application_name: 'sagapost saga transactions',
    max: connectionsMax,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
  })
  // As in role-pool.ts: the holder of a broken connection gets the error from its next statement.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  if (watch) watchPool(pool, watch, 'application')
  return pool
}
