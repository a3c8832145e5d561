import type pg from 'pg'
import type { DataBox } from '../../data-box.js'
import { openBox } from '../../data-box.js'
import type { StateStorage } from '../state-storage.js'
import { claim, readSignals, renewLeases } from './claim-sagas.js'
import { findDeliveries } from './find-deliveries.js'
import { cleanUpSignals, findSignals, passNewsOn, signal } from './keep-signals.js'
import { lookAhead } from './look-ahead.js'
import { findTimedOut, getSaga, listEvents, listSagas, listSteps, readStates } from './read-sagas.js'
import { cleanUpExpired, deleteFinished } from './remove-sagas.js'
import { requestCancel } from './request-cancel.js'
import { startSagas } from './start-saga.js'
import { createTransact } from './transact.js'
import { waitForKey } from './wait-for-key.js'
import { applyChanges } from './write-changes.js'

export interface PostgresStorageOptions {
  /** Under the role saga_app_role, or under a login that is a member of it. */
  readonly pool: pg.Pool
  /**
   * For transaction steps, which write the application's own tables: a login that may write them and is a member of the
   * role as well.
   */
  readonly transactionPool?: pg.Pool
  /** For renewals, which must not wait behind writes; under the same role. */
  readonly leasePool?: pg.Pool
  /** [G15] Encrypts inputs, outputs and results. */
  readonly dataBox?: DataBox
}

/** [G13] The storage on PostgreSQL. Every statement is one transaction; only `transact` opens a longer one. */
export function createPostgresStorage({
  pool,
  transactionPool = pool,
  leasePool = pool,
  dataBox: box = openBox,
}: PostgresStorageOptions): StateStorage {
  return {
    async startSaga(saga, tx) {
      const [outcome] =
        tx === undefined && saga.idempotencyKey !== null
          ? await waitForKey(pool, (client, lockTimeout) => startSagas(client, [saga], box, lockTimeout))
          : await startSagas((tx as pg.PoolClient | undefined) ?? pool, [saga], box)
      if (outcome === undefined) throw new Error(`nothing is known of saga ${saga.id}`)
      return outcome
    },
    startSagas: (sagas) => startSagas(pool, sagas, box),
    getSaga: (id) => getSaga(pool, id, box),
    readStates: (ids) => readStates(pool, ids),
    listSagas: (filter) => listSagas(pool, filter, box),
    findTimedOut: (limit) => findTimedOut(pool, limit, box),
    listSteps: (sagaId) => listSteps(pool, [sagaId], box),
    listEvents: (sagaId) => listEvents(pool, sagaId, box),
    write: (changes, leaseMs) => applyChanges(pool, changes, leaseMs, box),
    transact: createTransact(transactionPool, transactionPool === pool, box),
    lookAhead: (definitions) => lookAhead(pool, definitions),
    claim: (request) => claim(pool, request, box),
    async renew(owner, sagaIds, leaseMs) {
      const { rows } = await leasePool.query<{ id: string }>(renewLeases, [owner, sagaIds, leaseMs])
      return rows.map(({ id }) => id)
    },
    readSignals: (owner, sagaIds) => readSignals(leasePool, owner, sagaIds),
    requestCancel: (sagaId, request) => requestCancel(pool, sagaId, request),
    signal: (given, tx) =>
      tx === undefined
        ? waitForKey(pool, (client, lockTimeout) => signal(client, given, box, lockTimeout))
        : signal(tx as pg.PoolClient, given, box),
    findSignals: (wanted) => findSignals(pool, wanted, box),
    findDeliveries: (steps) => findDeliveries(pool, steps),
    passNewsOn: (limit) => passNewsOn(pool, limit),
    cleanUpSignals: (limit) => cleanUpSignals(pool, limit),
    async deleteSaga(id) {
      const { rowCount } = await pool.query(deleteFinished, [id])
      return rowCount === 1
    },
    cleanUpExpired: (olderThan, options) => cleanUpExpired(pool, olderThan, options),
  }
}
