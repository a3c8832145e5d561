import type pg from 'pg'

/** migrations/0014: the step's row, the batch and its letters by their keys. */
const requeueNextBatch = 'SELECT total, requeued_now FROM sagapost.requeue_batch($1, $2)'

const discardBatches = 'SELECT sagapost.discard_requeue($1)'

/** How far a requeue by filter has come. `matching` is the sum of the others. */
export interface RequeueProgress {
  matching: number
  requeued: number
  /** By somebody else, meanwhile. */
  alreadyRequeued: number
  refused: number
  /** How many for which reason: `subscription_inactive`, `subscription_deleted`, `dead_letter_not_found`. */
  refusals: Readonly<Record<string, number>>
  remaining: number
}

export interface RequeueBatch {
  progress: RequeueProgress
  /** Deliveries that this batch made. */
  requeued: number
}

/**
 * [D4, S19] The next batch of a requeue by filter, in one transaction with its count; without batches left it only tells
 * how it stands. Null when another attempt runs. Under the role saga_app_role.
 */
export async function requeueBatch(
  pool: pg.Pool,
  sagaId: string,
  attempt: number,
): Promise<RequeueBatch | null> {
  const { rows } = await pool.query<{ total: RequeueProgress | null; requeued_now: number }>(
    requeueNextBatch,
    [sagaId, attempt],
  )
  const [row] = rows
  return row?.total ? { progress: row.total, requeued: row.requeued_now } : null
}

/** Forgets what is left to do of one that is being undone. */
export async function discardRequeue(pool: pg.Pool, sagaId: string): Promise<void> {
  await pool.query(discardBatches, [sagaId])
}
