import type pg from 'pg'
import type { DatabaseWatch } from './database-watch.js'
import type { RoleClient } from './role-client.js'

/** Reports every failed connection, every failed statement and every success to the watch. */
export function watchPool(pool: pg.Pool, watch: DatabaseWatch, role: string): void {
  const onFailed = (error: unknown) => watch.failed(error, role)
  pool.on('connect', (client) => {
    ;(client as unknown as RoleClient).onFailed = onFailed
  })
  pool.on('release', (error) => {
    if (!error) watch.answered()
  })
  // Handles both call forms: `pool.query` itself calls the one with a callback.
  const connect = pool.connect.bind(pool) as (
    callback?: (error?: Error, ...rest: unknown[]) => void,
  ) => unknown
  pool.connect = ((callback?: (error?: Error, ...rest: unknown[]) => void) => {
    if (callback) {
      return connect((error, ...rest) => {
        if (error) onFailed(error)
        callback(error, ...rest)
      })
    }
    const connecting = connect() as Promise<pg.PoolClient>
    connecting.catch(onFailed)
    return connecting
  }) as typeof pool.connect
}
