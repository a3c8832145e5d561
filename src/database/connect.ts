import pg from 'pg'
import { SagapostError } from '../errors/index.js'

const CONNECT_TIMEOUT_MS = 10_000

/** The oldest PostgreSQL that the schema is tested on [O3]. */
const OLDEST_POSTGRES_MAJOR = 15

/** Reads a connection URL, or says in one line what is wrong with it. */
export function parseDatabaseUrl(databaseUrl: string): pg.ClientConfig {
  let url: URL
  try {
    url = new URL(databaseUrl)
  } catch {
    throw invalidUrl('it is not a URL')
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    throw invalidUrl(`it begins with ${url.protocol}//, not postgres://`)
  }
  return {
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'sagapost',
  }
}

function invalidUrl(why: string): SagapostError {
  // The URL itself is not repeated: it holds a password.
  return new SagapostError(
    'database_url_invalid',
    `DATABASE_URL cannot be used: ${why}. It reads postgres://user:password@host:5432/database`,
  )
}

/** One connection under the login's own name, to a server that is new enough. The caller ends it. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const config = parseDatabaseUrl(databaseUrl)
  const client = new pg.Client(config)
  // A connection that breaks while idle raises here; whoever uses it next gets the error from its query.
  client.on('error', () => {})
  try {
    await client.connect()
    await requireSupportedServer(client)
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw explainConnectError(error, client)
  }
}

async function requireSupportedServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; text: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text`,
  )
  const server = rows[0]
  if (!server || server.number < OLDEST_POSTGRES_MAJOR * 10_000) {
    throw new SagapostError(
      'postgres_too_old',
      `PostgreSQL ${server?.text} is too old: Sagapost needs ${OLDEST_POSTGRES_MAJOR} or later`,
    )
  }
}

/** A failed connection as one clear line with a stable code; the password is never part of it. */
export function explainConnectError(error: unknown, to: { host: string; port: number }): unknown {
  if (error instanceof SagapostError) return error
  const { code, message } = error as { code?: string; message: string }
  const where = to.host.startsWith('/') ? to.host : `${to.host}:${to.port}`
  switch (code) {
    case '28P01':
    case '28000':
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
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
    case 'ECONNRESET':
    case 'ENOENT':
    case '57P03':
    case '53300':
      return unreachable(where, message || code, error)
    default:
      // pg has no code for a time-out, a closed connection, a server without TLS or one that is none.
      return code === undefined ? unreachable(where, message, error) : error
  }
}

function unreachable(where: string, why: string, cause: unknown): SagapostError {
  return new SagapostError('database_unreachable', `PostgreSQL at ${where} cannot be reached: ${why}`, {
    cause,
  })
}
