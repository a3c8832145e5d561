import type pg from 'pg'
import { databaseErrorCode, inTransaction, isRowId } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'

// migrations/0009: the delivery by webhook_delivery_sagas_pkey, group by group of partitions.
const cancel = 'SELECT sagapost.cancel_delivery($1)'

/**
 * Requests cancellation, under the role dead_letter_operator; the orchestrator carries it out. No further attempt
 * starts, and the delivery is dead-lettered with `cancelled` unless an attempt under way succeeds. Repeatable. Throws
 * `delivery_not_found`, and `delivery_not_cancellable` when the delivery has ended otherwise.
 */
export async function cancelDelivery(pool: pg.Pool, id: string): Promise<void> {
  if (!isRowId(id)) throw new SagapostError('delivery_not_found', `there is no delivery ${id.slice(0, 40)}`)
  try {
    // Refusals are normal here; inside a transaction, the rollback keeps the connection usable.
    await inTransaction(pool, (client) => client.query(cancel, [id]))
  } catch (error) {
    const code = databaseErrorCode(error)
    throw code === undefined ? error : new SagapostError(code, (error as Error).message, { cause: error })
  }
}
