import pg from 'pg'
import { LOCK_TIMED_OUT } from '../../../database/index.js'
import { SagapostError } from '../../../errors/index.js'

/** As long as a statement takes that has the same key at the same moment. */
const MOMENT_MS = 100
/** How long to wait for a key that an open transaction holds. It may be the caller's own, and would never end. */
const KEY_WAIT_MS = 2_000

/** Runs the statement on a connection, with how long it may wait for a lock. */
type WithKey<Answer> = (client: pg.PoolClient, lockTimeout: string) => Promise<Answer>

/** How many wait at this moment, of each pool. */
const waiting = new WeakMap<pg.Pool, number>()

/**
 * For statements that wait while another transaction holds their key, be it for hours: they would take one connection of
 * the pool after the other, and leave none to sagas that run. So half of them wait at most, and none for long. Throws
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

/** A refusal is nothing unusual: the connection is kept. */
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
