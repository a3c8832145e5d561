import type { Socket } from 'node:net'
import pg from 'pg'

/** Time for the request to reach the server; an unreachable server does not answer. */
const CANCEL_MS_MAX = 1_000

/** Properties of `pg` clients that its types omit. */
interface Inside {
  host: string
  port: number
  ssl?: unknown
  processID?: number | null
  secretKey?: number | null
  connection?: { stream?: Socket }
  _getActiveQuery(): unknown
}

type CancelConnection = pg.Connection & {
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

/**
 * Closes a connection at once and cancels its statement on the server. After a closed socket alone, a waiting
 * statement, or a COMMIT that waits for a synchronous standby (which ignores statement_timeout in PostgreSQL 15 to 18),
 * keeps its backend and its locks. Never fails; takes at most a second.
 */
export async function abandonConnection(client: pg.ClientBase): Promise<void> {
  const inside = client as unknown as Inside
  const isAtWork = Boolean(inside._getActiveQuery())
  inside.connection?.stream?.destroy()
  if (isAtWork) await cancelStatement(inside)
}

/** Abandons every connection of a pool, for a stop that is out of time. */
export async function abandonPool(pool: pg.Pool): Promise<void> {
  if (!pool.ending) void pool.end()
  const { _clients: clients } = pool as unknown as { _clients: readonly pg.ClientBase[] }
  await Promise.all([...clients].map(abandonConnection))
}

function cancelStatement({ host, port, ssl, processID, secretKey }: Inside): Promise<void> {
  if (processID == null || secretKey == null) return Promise.resolve()
  return new Promise((resolve) => {
    const connection = new pg.Connection({ ssl } as never) as CancelConnection
    const timer = setTimeout(() => connection.stream.destroy(), CANCEL_MS_MAX)
    const send = () => connection.cancel(processID, secretKey)
    connection.on('error', () => {})
    connection.on('connect', () => (ssl ? connection.requestSsl() : send()))
    connection.on('sslconnect', send)
    // The server closes the connection without an answer.
    connection.on('end', () => {
      clearTimeout(timer)
      resolve()
    })
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
}
