import type { Socket } from 'node:net'
import pg from 'pg'

/** For the request to reach the server; one that is gone answers nothing. */
const CANCEL_MS_MAX = 1_000

/** What `pg` has and its types do not. */
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
 * Leaves a connection at once, and has the server leave what it does on it. A closed socket alone is noticed by no
 * statement that waits, and a COMMIT that waits for a synchronous standby heeds no statement_timeout either (PostgreSQL
 * 15 to 18): each would keep its backend and its locks. Never fails; waits a second at most.
 */
export async function abandonConnection(client: pg.ClientBase): Promise<void> {
  const inside = client as unknown as Inside
  const isAtWork = Boolean(inside._getActiveQuery())
  inside.connection?.stream?.destroy()
  if (isAtWork) await cancelStatement(inside)
}

/** The same for all connections of a pool, which is no use any more: for a stop that may wait no longer. */
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
    // The server says nothing and closes.
    connection.on('end', () => {
      clearTimeout(timer)
      resolve()
    })
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
}
