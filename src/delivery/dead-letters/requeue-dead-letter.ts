import type pg from 'pg'
import { databaseErrorCode, inTransaction, isRowId } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'

// migrations/0014: the letter by its key, the delivery of an earlier request by uniq_saga_requeued_from.
const requeue = 'SELECT delivery_id, created FROM sagapost.requeue_dead_letter($1)'

export interface Requeued {
  deliveryId: string
  /** False when an earlier request created the delivery. */
  created: boolean
}

/**
 * [D4, S19] Creates a delivery for the dead letter's event and subscription, under the role dead_letter_operator. A
 * repeated request returns the same delivery. Throws `dead_letter_not_found`, `subscription_inactive` or
 * `subscription_deleted`.
 */
export async function requeueDeadLetter(pool: pg.Pool, id: string): Promise<Requeued> {
  if (!isRowId(id)) throw new SagapostError('dead_letter_not_found', 'there is no such dead letter')
  try {
    // Refusals are normal here; inside a transaction, the rollback keeps the connection usable.
    return await inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ delivery_id: string; created: boolean }>(requeue, [id])
      const [made] = rows
      if (!made) throw new Error('sagapost.requeue_dead_letter() returned nothing')
      return { deliveryId: made.delivery_id, created: made.created }
    })
  } catch (error) {
    const code = databaseErrorCode(error)
    throw code === undefined ? error : new SagapostError(code, (error as Error).message, { cause: error })
  }
}
