import pg from 'pg'
import { parseDatabaseUrl } from './connect.js'
import type { DatabaseRole } from './roles.js'

/** What the parts rely on, whatever the login or the database has set for its sessions. */
const sessionSettings =
  '-c search_path=pg_catalog -c TimeZone=UTC -c default_transaction_isolation=read\\ committed -c default_transaction_read_only=off'

export interface RolePoolOptions {
  databaseUrl: string
  role: DatabaseRole
  connectionsMax: number
}

/**
 * Connections that run under one part's role from their first statement on, in every mode [O2]: the login of
 * the URL is only the door, its own rights are never used.
 */
export function createRolePool({ databaseUrl, role, connectionsMax }: RolePoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...parseDatabaseUrl(databaseUrl),
    application_name: `sagapost ${role}`,
    options: `-c role=${role} ${sessionSettings}`,
    max: connectionsMax,
  })
  // An idle connection that breaks is dropped by the pool; the next query opens another or says why not.
  pool.on('error', () => {})
  return pool
}
