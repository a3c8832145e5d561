import pg from 'pg'
import { LOCK_TIMED_OUT } from '../../../database/index.js'
import { SagapostError } from '../../../errors/index.js'

/** The duration of a concurrent statement with the same key. */
const MOMENT_MS = 100
/** How long to wait for a key that an open transaction holds. That may be the caller's own, which would never end. */
const KEY_WAIT_MS = 2_000

/** Runs the statement on a connection, with its lock_timeout. */
type WithKey<Answer> = (client: pg.PoolClient, lockTimeout: string) => Promise<Answer>

/** The number of waiting statements per pool. */
const waiting = new WeakMap<pg.Pool, number>()

/**
 * For statements that may wait for hours while another transaction holds their key. They would take up the pool's
 * connections and leave none to running sagas, so at most half of the connections wait, and only briefly. Throws
 * `idempotency_key_busy`.
 */
export async function waitForKey<Answer>(pool: pg.Pool, work: WithKey<Answer>): Promise<Answer> {
  try {
    return await onConnection(pool, work, MOMENT_MS)
  } catch (error) {
    if (!isTimeout(error)) throw error
    if (countWaiting(pool) >= Math.max(1, Math.floor(pool.options.max / 2))) throw keyBusy(error)
  }
  waiting.set(pool, countWaiting(pool) + 1)
  try {
    return await onConnection(pool, work, KEY_WAIT_MS)
  } catch (error) {
    throw isTimeout(error) ? keyBusy(error) : error
  } finally {
    waiting.set(pool, countWaiting(pool) - 1)
  }
}

const countWaiting = (pool: pg.Pool): number => waiting.get(pool) ?? 0

/** A refusal is a normal outcome: the connection is kept. */
async function onConnection<Answer>(pool: pg.Pool, work: WithKey<Answer>, ms: number): Promise<Answer> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await work(client, `${ms}ms`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_TIMED_OUT
}

function keyBusy(cause: unknown): SagapostError {
  const detail = 'another transaction holds the key, and has not ended; nothing was kept'
  return new SagapostError('idempotency_key_busy', detail, { cause })
}
