import type pg from 'pg'
import { hasLoginPerRole, ROLE_PLACE } from '../config/index.js'
import { SagapostError } from '../errors/index.js'
import { GuardedClient } from './guarded-client.js'
import { valueParsers } from './parse-values.js'
import { asStartOptions, sessionSettings, settleSession, settleValues } from './session-settings.js'

const CONNECT_TIMEOUT_MS = 10_000

/** The oldest PostgreSQL on which the schema is tested [O3]. */
const OLDEST_POSTGRES_MAJOR = 15

/** Parses a connection URL, or throws one line that says what is wrong with it. */
function parseDatabaseUrl(databaseUrl: string): URL {
  let url: URL
  try {
    url = new URL(databaseUrl)
  } catch {
    throw invalidUrl('it is not a URL')
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    throw invalidUrl(`it begins with ${url.protocol}//, not postgres://`)
  }
  if (url.pathname.length < 2) throw invalidUrl('it names no database')
  return url
}

/** Returns the URL if it has a single login. */
export function requireSingleLogin(databaseUrl: string): string {
  if (hasLoginPerRole(databaseUrl)) {
    throw invalidUrl(`it has a login for each ${ROLE_PLACE}; this needs a single one`)
  }
  return parseDatabaseUrl(databaseUrl).href
}

function invalidUrl(why: string): SagapostError {
  // The URL is not repeated, because it holds a password.
  return new SagapostError(
    'database_url_invalid',
    `DATABASE_URL cannot be used: ${why}. It reads postgres://user:password@host:5432/database`,
  )
}

/**
 * Adds settings that the server applies when the connection starts. They go into the URL because `pg` prefers the URL
 * to options given beside it, and after the user's own settings because the last one wins.
 */
export function withSettings(
  databaseUrl: string,
  applicationName: string,
  settings: Record<string, string> = {},
): string {
  const { role } = settings
  if (role !== undefined && hasLoginPerRole(databaseUrl)) {
    // Each role's login has its own settings; a pooler in transaction mode would refuse or drop these.
    return parseDatabaseUrl(databaseUrl.replaceAll(ROLE_PLACE, role)).href
  }
  const url = new URL(requireSingleLogin(databaseUrl))
  const options = asStartOptions({ ...sessionSettings, ...settings })
  const own = url.searchParams.get('options')
  url.searchParams.set('options', [...(own ? [own] : []), ...options].join(' '))
  url.searchParams.set('application_name', applicationName)
  return url.href
}

export const connectionDefaults = {
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  types: valueParsers,
} as const

/** Opens one connection under the URL's login, and checks the server's version. The caller ends it. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const url = parseDatabaseUrl(databaseUrl)
  let client: pg.Client | undefined
  try {
    client = new GuardedClient({
      ...connectionDefaults,
      connectionString: withSettings(databaseUrl, 'sagapost'),
    })
    // A connection that breaks while idle raises the error here; its holder gets it from the next query.
    client.on('error', () => {})
    await client.connect()
    await requireSupportedServer(client)
    await client.query(settleSession, settleValues(serverProcess(client)))
    return client
  } catch (error) {
    await client?.end().catch(() => {})
    throw explainConnectError(error, client ?? { host: url.hostname, port: Number(url.port || 5432) })
  }
}

/** The server's process id as reported when the connection started; a pooler reports one of its own. */
export function serverProcess(client: pg.ClientBase): number | undefined {
  return (client as { processID?: number }).processID
}

async function requireSupportedServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; text: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text,
            current_setting('server_encoding') AS encoding`,
  )
  const server = rows[0]
  if (!server || server.number < OLDEST_POSTGRES_MAJOR * 10_000) {
    throw new SagapostError(
      'postgres_too_old',
      `PostgreSQL ${server?.text} is too old: Sagapost needs ${OLDEST_POSTGRES_MAJOR} or later`,
    )
  }
  if (server.encoding !== 'UTF8') {
    throw new SagapostError(
      'database_not_utf8',
      `The database is in ${server.encoding}: Sagapost needs one that was created with ENCODING 'UTF8'`,
    )
  }
}

/** Describes a failed connection in one line with a stable code and without the password. */
function explainConnectError(error: unknown, to: { host: string; port: number }): SagapostError {
  if (error instanceof SagapostError) return error
  const { code, message } = error as { code?: string; message: string }
  const where = to.host.startsWith('/') ? to.host : `${to.host}:${to.port}`
  switch (code) {
    case '28P01': // invalid_password
    case '28000': // invalid_authorization_specification
    case '42501': // no right to connect to the database
      return new SagapostError(
        'database_login_refused',
        `PostgreSQL at ${where} refused the login: ${message}`,
        {
          cause: error,
        },
      )
    case '3D000':
      return new SagapostError(
        'database_missing',
        `PostgreSQL at ${where} has no such database: ${message}`,
        {
          cause: error,
        },
      )
    default:
      // Refused, timed out, name not found, TLS mismatch, starting up, too many connections, …
      return new SagapostError(
        'database_unreachable',
        `PostgreSQL at ${where} cannot be reached: ${message || code}`,
        { cause: error },
      )
  }
}
