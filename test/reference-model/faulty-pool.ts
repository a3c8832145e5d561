import type pg from 'pg'

/**
 * What happens to a part in the middle of an operation. `crash`: the process dies before or after its nth statement, with
 * all that it knew. `cut`: only the connection does; after a COMMIT, or a statement that commits by itself, that is a
 * commit whose answer is lost. `hold`: it stands still with its locks, right after the statement that takes them or right
 * before its commit, while others go on; then it commits, or dies.
 */
export type Fault =
  | { kind: 'none' }
  | { kind: 'crash' | 'cut'; at: number; when: 'before' | 'after' }
  | { kind: 'hold'; at: 'locked' | 'commit'; end: 'commit' | 'crash' }

/** What the part sees of a fault. */
export class ConnectionLost extends Error {}

/** One operation's view of its pool. */
export interface FaultyPool {
  pool: pg.Pool
  /** Transactions that committed, statements that commit by themselves included. */
  readonly commits: number
  /** Whether the fault has happened. */
  readonly struck: boolean
  /** Resolves when the operation stands still, with the statement that it was about to send. */
  readonly paused: Promise<string>
  /** Lets it go on to its commit, or to its death. */
  resume(): void
  /** Of the connection that it used last. */
  readonly processId: number | undefined
}

/** How much of a connection is told here. */
interface Session {
  client: pg.PoolClient
  inTransaction: boolean
  /** Statements of the open transaction, BEGIN not counted. */
  statements: number
  broken: boolean
}

const TERMINATE_MS_MAX = 60_000

/**
 * `real` under the fault. `owner` makes sure that the server has noticed a lost connection before anybody goes on: locks
 * of the dead would otherwise be there or not, as it happens. `holdUnit`: which of several commits a hold is for.
 */
export function faultyPool(real: pg.Pool, owner: pg.Pool, fault: Fault, holdUnit = 1): FaultyPool {
  let sent = 0
  let commits = 0
  let struck = false
  let dead = false
  let processId: number | undefined
  const pause = makeGate<string>()
  const end = makeGate<void>()

  async function lose(session: Session): Promise<never> {
    struck = true
    session.broken = true
    if (fault.kind !== 'cut') dead = true
    const { processID, connection } = session.client as unknown as {
      processID: number
      connection: { stream: { destroy(): void } }
    }
    connection.stream.destroy()
    await owner.query('SELECT pg_terminate_backend($1, $2)', [processID, TERMINATE_MS_MAX])
    throw new ConnectionLost('the connection was lost')
  }

  async function standStill(session: Session, text: string): Promise<void> {
    if (fault.kind !== 'hold' || struck || commits + 1 !== holdUnit) return
    struck = true
    pause.open(text)
    await end.opened
    if (fault.end === 'crash') await lose(session)
  }

  async function send(session: Session, text: string, values?: unknown[]): Promise<pg.QueryResult> {
    if (dead || session.broken) throw new ConnectionLost('the connection is gone')
    const strikes = (fault.kind === 'crash' || fault.kind === 'cut') && fault.at === sent && !struck
    sent += 1
    if (strikes && fault.when === 'before') await lose(session)
    const isLast = text === 'COMMIT'
    if (fault.kind === 'hold' && (isLast || (fault.at === 'locked' && session.statements === 1))) {
      await standStill(session, text)
    }
    const result = await session.client.query(text, values)
    if (text === 'BEGIN') {
      session.inTransaction = true
      session.statements = 0
    } else if (isLast || text === 'ROLLBACK') {
      session.inTransaction = false
      if (isLast) commits += 1
    } else if (session.inTransaction) session.statements += 1
    else commits += 1
    if (strikes) await lose(session)
    return result
  }

  async function open(): Promise<Session> {
    if (dead) throw new ConnectionLost('this process is dead')
    const client = await real.connect()
    processId = (client as unknown as { processID: number }).processID
    return { client, inTransaction: false, statements: 0, broken: false }
  }

  const close = (session: Session, error?: Error | boolean) =>
    session.client.release(session.broken ? true : error)

  const pool = {
    async connect() {
      const session = await open()
      return {
        query: (text: string, values?: unknown[]) => send(session, text, values),
        release: (error?: Error | boolean) => close(session, error),
      }
    },
    async query(text: string, values?: unknown[]) {
      const session = await open()
      try {
        // A statement by itself is held between its work and its commit: as a transaction, which is the same to others.
        if (fault.kind !== 'hold') return await send(session, text, values)
        await send(session, 'BEGIN')
        const result = await send(session, text, values)
        await send(session, 'COMMIT')
        return result
      } catch (error) {
        close(session, error as Error)
        session.broken = true
        throw error
      } finally {
        if (!session.broken) close(session)
      }
    },
  }

  return {
    pool: pool as unknown as pg.Pool,
    get commits() {
      return commits
    },
    get struck() {
      return struck
    },
    paused: pause.opened,
    resume: () => end.open(),
    get processId() {
      return processId
    },
  }
}

function makeGate<T>(): { opened: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
