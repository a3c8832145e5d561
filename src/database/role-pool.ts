import pg from 'pg'
import { SagapostError } from '../errors/index.js'
import { connectionDefaults, serverProcess, withSettings } from './connect.js'
import type { DatabaseWatch } from './database-watch.js'
import { failLater } from './fail-later.js'
import { PreparingClient } from './prepared.js'
import { RoleClient } from './role-client.js'
import type { DatabaseRole } from './roles.js'
import { type SettledSession, settleSession, settleValues } from './session-settings.js'
import { watchPool } from './watch-pool.js'

/** A part's statements are short; one that takes this long hangs on a server that is gone. */
const QUERY_TIMEOUT_MS = 30_000

/**
 * The server's time-out as a multiple of ours, in case the process that would cancel the statement was killed or cut
 * off. At twice the time, ours always fires first and names the part that waited.
 */
const SERVER_TIMEOUT_FACTOR = 2

/** After this, a process that was stopped or cut off in mid-transaction releases its rows. */
const STALLED_TRANSACTION = '1min'

/**
 * Leaves the planner only indexes in their order and look-ups by key, whatever the statistics say, and one plan for all
 * values: docs/internals/hot-statements.md#pinned-plans.
 */
export const pinnedPlans = {
  enable_sort: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  plan_cache_mode: 'force_generic_plan',
} as const

/** A new connection costs the server a process; loops run at least every half minute. */
const IDLE_CONNECTION_MS = 60_000

/** Closing a connection drops the statements that were prepared for an earlier fresh range (in-range.ts). */
const CONNECTION_S_MAX = 15 * 60

export interface RolePoolOptions {
  databaseUrl: string
  role: DatabaseRole
  connectionsMax: number
  /** What the server calls the sessions; by default those of a part. */
  applicationName?: string
  /** Plans only with indexes and nested loops: for parts that move rows, not for those that search or count. */
  pinnedPlans?: boolean
  /** Whether statements marked as `prepared` are sent as named statements. */
  preparedStatements?: boolean
  /** A statement that takes longer is cancelled, here and on the server, and its connection is closed. */
  queryTimeoutMs?: number
  /** Notified of every success and failure. */
  watch?: DatabaseWatch | undefined
}

/**
 * Opens connections that run under one part's role from their first statement on, in every mode [O2]. The rights of the
 * URL's login are never used.
 */
export function createRolePool({
  databaseUrl,
  role,
  connectionsMax,
  applicationName = `sagapost ${role}`,
  pinnedPlans: pinned = false,
  preparedStatements = false,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
  watch,
}: RolePoolOptions): pg.Pool {
  const settings = {
    idle_in_transaction_session_timeout: STALLED_TRANSACTION,
    statement_timeout: `${queryTimeoutMs * SERVER_TIMEOUT_FACTOR}ms`,
    ...(pinned && pinnedPlans),
  }
  const pool = new pg.Pool({
    ...connectionDefaults,
    Client: failLater(preparedStatements ? PreparingClient : RoleClient),
    connectionString: withSettings(databaseUrl, applicationName, { role, ...settings }),
    query_timeout: queryTimeoutMs,
    max: connectionsMax,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    maxLifetimeSeconds: CONNECTION_S_MAX,
    // A pooler may drop the settings: then nothing runs, rather than everything as the login.
    verify: (client: pg.PoolClient, done: (error?: Error) => void) => {
      client
        .query<SettledSession>(settleSession, settleValues(serverProcess(client), settings))
        .then(({ rows }) => done(rows[0] && refuseSession(role, rows[0])), done)
    },
  } as pg.PoolConfig)
  // The pool drops an idle connection that breaks; the next query opens another or fails with the reason.
  pool.on('error', () => {})
  // A connection that breaks while it is lent out, between two statements, would end the process; its holder gets the
  // error from its next statement.
  pool.on('connect', (client) => client.on('error', () => {}))
  if (watch) watchPool(pool, watch, role)
  return pool
}

function refuseSession(role: DatabaseRole, session: SettledSession): SagapostError | undefined {
  if (session.role !== role) {
    return new SagapostError(
      'permission_denied',
      `A connection for ${role} runs as ${session.role}: a pooler or proxy dropped the role setting`,
    )
  }
  if (session.lacking === null) return undefined
  return new SagapostError(
    'login_settings_missing',
    `Behind a pooler, the login ${session.login} needs these settings: ${session.lacking}`,
  )
}
