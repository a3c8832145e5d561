import pg from 'pg'
import type { DataBox } from '../data-box.js'
import { openBox } from '../data-box.js'
import type { StepTransaction } from '../definition.js'
import type { SagaChange } from '../records.js'
import type { StateStorage, TransactOutcome } from '../state-storage.js'
import { claim, readSignals, renewLeases } from './claim-sagas.js'
import { lendTransaction } from './lend-transaction.js'
import { findTimedOut, getSaga, listEvents, listSagas, listSteps } from './read-sagas.js'
import { cleanUpExpired, deleteFinished } from './remove-sagas.js'
import { requestCancel } from './request-cancel.js'
import { startSagas } from './start-saga.js'
import { applyChanges } from './write-changes.js'

export interface PostgresStorageOptions {
  /** Under the role saga_app_role, or under a login that is a member of it. */
  readonly pool: pg.Pool
  /** For transaction steps, which write the application's own tables: a login that may, and is a member too. */
  readonly transactionPool?: pg.Pool
  /** [G15] Encrypts inputs, outputs and results. */
  readonly dataBox?: DataBox
}

/** [G13] The storage on PostgreSQL. Every statement is one transaction; only `transact` opens one for longer. */
export function createPostgresStorage({
  pool,
  transactionPool = pool,
  dataBox: box = openBox,
}: PostgresStorageOptions): StateStorage {
  return {
    async startSaga(saga, tx) {
      const [outcome] = await startSagas((tx as pg.PoolClient | undefined) ?? pool, [saga], box)
      if (outcome === undefined) throw new Error(`nothing is known of saga ${saga.id}`)
      return outcome
    },
    startSagas: (sagas) => startSagas(pool, sagas, box),
    getSaga: (id) => getSaga(pool, id, box),
    listSagas: (filter) => listSagas(pool, filter, box),
    findTimedOut: (limit) => findTimedOut(pool, limit, box),
    listSteps: (sagaId) => listSteps(pool, [sagaId], box),
    listEvents: (sagaId) => listEvents(pool, sagaId),
    write: (changes, leaseMs) => applyChanges(pool, changes, leaseMs, box),
    transact: (work, leaseMs) => transact(transactionPool, work, leaseMs, box),
    claim: (request) => claim(pool, request, box),
    async renew(owner, sagaIds, leaseMs) {
      await pool.query(renewLeases, [owner, sagaIds, leaseMs])
    },
    readSignals: (owner, sagaIds) => readSignals(pool, owner, sagaIds),
    requestCancel: (sagaId, request) => requestCancel(pool, sagaId, request),
    async deleteSaga(id) {
      const { rowCount } = await pool.query(deleteFinished, [id])
      return rowCount === 1
    },
    cleanUpExpired: (olderThan, options) => cleanUpExpired(pool, olderThan, options),
  }
}

/** Something in the transaction is to blame, be it at its end: data, constraints, or an error that the step swallowed. */
const STEP_ERRORS = /^(22|23|25P02|40|54|P0|SP)/

/**
 * The fence is looked at last, by the same statement as everywhere: a holder that lost its lease meanwhile writes
 * nothing, and while the step works the row is free for a renewal or a cancel.
 */
async function transact(
  pool: pg.Pool,
  work: (tx: StepTransaction) => Promise<SagaChange>,
  leaseMs: number,
  box: DataBox,
): Promise<TransactOutcome> {
  const client = await pool.connect()
  let broken: Error | undefined
  const rollBack = () =>
    client.query('ROLLBACK').catch((error: Error) => {
      broken = error
    })
  try {
    await client.query('BEGIN')
    let change: SagaChange
    const lent = lendTransaction(client)
    try {
      change = await work(lent.tx).finally(lent.takeBack)
    } catch (error) {
      await rollBack()
      return { outcome: 'failed', error }
    }
    const [outcome] = await applyChanges(client, [change], leaseMs, box)
    if (!outcome?.applied) {
      await rollBack()
      return { outcome: 'refused' }
    }
    await client.query('COMMIT')
    return { outcome: 'committed', signals: outcome }
  } catch (error) {
    await rollBack()
    // Whether it was committed is known here: the server has said no. Any other error leaves it open, and is thrown.
    if (error instanceof pg.DatabaseError && STEP_ERRORS.test(error.code ?? ''))
      return { outcome: 'failed', error }
    throw error
  } finally {
    client.release(broken)
  }
}
