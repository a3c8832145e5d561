import type pg from 'pg'
import { databaseErrorCode, inTransaction, isRowId } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'

// migrations/0009: the delivery by webhook_delivery_sagas_pkey, group by group of partitions.
const cancel = 'SELECT sagapost.cancel_delivery($1)'

/**
 * Nothing more is sent of the delivery, but what is on its way; it ends as a dead letter with `cancelled`, unless that
 * arrives. The parts bring it about. Asked again, nothing more happens. Under the role dead_letter_operator. Throws
 * `delivery_not_found`, and `delivery_not_cancellable` when it has ended otherwise.
 */
export async function cancelDelivery(pool: pg.Pool, id: string): Promise<void> {
  if (!isRowId(id)) throw new SagapostError('delivery_not_found', `there is no delivery ${id.slice(0, 40)}`)
  try {
    // In a transaction because a refusal is nothing unusual: the rollback keeps the connection.
    await inTransaction(pool, (client) => client.query(cancel, [id]))
  } catch (error) {
    const code = databaseErrorCode(error)
    throw code === undefined ? error : new SagapostError(code, (error as Error).message, { cause: error })
  }
}
