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

/** No statement of a part takes long; one that does hangs on a server that is gone. */
const QUERY_TIMEOUT_MS = 30_000

/**
 * The server ends a statement by itself after so many times of ours, if the process that would cancel it was killed or is
 * cut off: with twice the time, ours is always the first, and says which part has waited.
 */
const SERVER_TIMEOUT_FACTOR = 2

/** A process that was stopped or cut off in mid-transaction gives its rows back after this. */
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

/** A new connection costs the server a process; loops come back every half minute at the latest. */
const IDLE_CONNECTION_MS = 60_000

/** With a connection go the statements that were prepared for what was fresh then (in-range.ts). */
const CONNECTION_S_MAX = 15 * 60

export interface RolePoolOptions {
  databaseUrl: string
  role: DatabaseRole
  connectionsMax: number
  /** Whether plans go by indexes and nested loops only: for parts that move rows, not for those that search or count. */
  pinnedPlans?: boolean
  /** Whether statements that are marked as `prepared` are sent under a name. */
  preparedStatements?: boolean
  /** A statement that takes longer is given up, here and on the server, and its connection with it. */
  queryTimeoutMs?: number
  /** Hears of whatever fails and works. */
  watch?: DatabaseWatch | undefined
}

/**
 * Connections that run under one part's role from their first statement on, in every mode [O2]: the login of
 * the URL is only the door, its own rights are never used.
 */
export function createRolePool({
  databaseUrl,
  role,
  connectionsMax,
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
    connectionString: withSettings(databaseUrl, `sagapost ${role}`, { role, ...settings }),
    query_timeout: queryTimeoutMs,
    max: connectionsMax,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    maxLifetimeSeconds: CONNECTION_S_MAX,
    // A pooler in between may drop the settings: then nothing runs, instead of everything as the login.
    verify: (client: pg.PoolClient, done: (error?: Error) => void) => {
      client
        .query<SettledSession>(settleSession, settleValues(serverProcess(client), settings))
        .then(({ rows }) => done(rows[0] && refuseSession(role, rows[0])), done)
    },
  } as pg.PoolConfig)
  // An idle connection that breaks is dropped by the pool; the next query opens another or says why not.
  pool.on('error', () => {})
  // One that breaks while it is lent out, between two statements, would end the process; whoever has it gets the
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
