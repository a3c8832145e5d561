import pg from 'pg'
import { within } from '../../../loop/index.js'
import type { DataBox } from '../../data-box.js'
import type { StepTransaction } from '../../definition.js'
import type { SagaChange } from '../../records.js'
import type { StateStorage, TransactOutcome, WriteOutcome } from '../state-storage.js'
import { lendTransaction } from './lend-transaction.js'
import { createTransactionSlots } from './transaction-slots.js'
import { applyChangesInTransaction } from './write-changes.js'

/**
 * The process id of this transaction's server, also behind a pooler, and when the transaction began. What the step has
 * done counts as done when its COMMIT is answered: by default that waits for the disk; the step itself may say otherwise.
 */
const begin = `BEGIN; SELECT pg_backend_pid() AS pid, extract(epoch FROM now())::text AS began,
  CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
       THEN set_config('synchronous_commit', 'on', true) END`

/** Ends a server process of the same login, if it still is in this transaction: another may have its number by now. */
const terminate = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid = $1 AND extract(epoch FROM xact_start) = $2::numeric`

/**
 * Errors caused by the transaction's content, possibly at its end: data, constraints, or an error that the step
 * swallowed.
 */
const STEP_ERRORS = /^(22|23|25P02|40|54|P0|SP)/

/** A ROLLBACK waits behind an abandoned statement of the step; after this time the connection is closed. */
const ROLLBACK_MS_MAX = 500

/**
 * Runs transaction steps. Each holds a connection and waits its turn when all are taken, since asking the pool in vain
 * would be an error. Without a pool of their own they leave one connection to the writes.
 */
export function createTransact(pool: pg.Pool, shared: boolean, box: DataBox): StateStorage['transact'] {
  // Created with the first transaction: most storages never run one.
  let takeTurn: ReturnType<typeof createTransactionSlots> | undefined
  return (work, leaseMs) => {
    takeTurn ??= createTransactionSlots(Math.max(1, shared ? pool.options.max - 1 : pool.options.max))
    return takeTurn(() => transact(pool, work, leaseMs, box))
  }
}

/**
 * Checks the fence last, by the usual statement: a holder that has lost its lease writes nothing, and while the step
 * works the row is free for a renewal or a cancel. Any error before COMMIT means that nothing was written.
 */
async function transact(
  pool: pg.Pool,
  work: (tx: StepTransaction) => Promise<SagaChange>,
  leaseMs: number,
  box: DataBox,
): Promise<TransactOutcome> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    return { outcome: 'unavailable', error }
  }
  let server: Server | undefined
  let broken = false
  const rollBack = async (): Promise<void> => {
    broken = !(await succeedsWithin(ROLLBACK_MS_MAX, client.query('ROLLBACK')))
  }
  try {
    try {
      server = readServer(await client.query(begin))
    } catch (error) {
      broken = true
      return { outcome: 'unavailable', error }
    }
    let change: SagaChange
    const lent = lendTransaction(client)
    try {
      change = await work(lent.tx).finally(lent.takeBack)
    } catch (error) {
      await rollBack()
      return { outcome: 'failed', error }
    }
    let written: WriteOutcome | undefined
    try {
      ;[written] = await applyChangesInTransaction(client, [change], leaseMs, box)
    } catch (error) {
      await rollBack()
      return { outcome: isOfTheStep(error) ? 'failed' : 'unavailable', error }
    }
    if (!written?.applied) {
      await rollBack()
      return { outcome: 'refused' }
    }
    try {
      await answeredWithin(leaseMs, client.query('COMMIT'))
      return { outcome: 'committed', signals: written }
    } catch (error) {
      await rollBack()
      // The server has refused the commit. Any other error leaves it uncertain, and is thrown.
      if (isOfTheStep(error)) return { outcome: 'failed', error }
      throw error
    }
  } finally {
    client.release(broken)
    // Its statement would continue, and hold its locks, until the server notices that the client is gone.
    if (broken && server !== undefined) {
      const { pid, began } = server
      await succeedsWithin(ROLLBACK_MS_MAX, pool.query(terminate, [pid, began]))
    }
  }
}

/** Errors from our own tables (a missing partition, say) are not the step's. */
function isOfTheStep(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  return error.schema !== 'sagapost' && STEP_ERRORS.test(error.code ?? '')
}

interface Server {
  readonly pid: number
  /** In seconds, to the microsecond. */
  readonly began: string
}

function readServer(result: unknown): Server | undefined {
  const [, { rows }] = result as [unknown, pg.QueryResult<Server>]
  return rows[0]
}

/**
 * When COMMIT is not answered, the coordinator that claims the saga after the lease reads from the rows whether it was
 * committed.
 */
async function answeredWithin(ms: number, commit: Promise<unknown>): Promise<void> {
  await within(ms, commit, () => {
    throw new Error(`COMMIT was not answered within ${ms} ms`)
  })
}

/** False when it fails or takes longer. */
function succeedsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const succeeded = work.then(
    () => true,
    () => false,
  )
  return within(ms, succeeded, () => false)
}
