import type pg from 'pg'

/** migrations/0014: the step's row, the batch and its letters by their keys. */
const requeueNextBatch = 'SELECT total, requeued_now FROM sagapost.requeue_batch($1, $2)'

const discardBatches = 'SELECT sagapost.discard_requeue($1)'

/** Progress of a requeue by filter. `matching` is the sum of the other counts. */
export interface RequeueProgress {
  matching: number
  requeued: number
  /** Requeued by another request since the plan was made. */
  alreadyRequeued: number
  refused: number
  /** The number refused for each reason: `subscription_inactive`, `subscription_deleted`, `dead_letter_not_found`. */
  refusals: Readonly<Record<string, number>>
  remaining: number
}

export interface RequeueBatch {
  progress: RequeueProgress
  /** Deliveries created by this batch. */
  requeued: number
}

/**
 * [D4, S19] Requeues the next batch of a requeue by filter, in one transaction with its count; without a remaining
 * batch it only reads the progress. Null when another attempt runs. Under the role saga_app_role.
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

/** Deletes the remaining batches of a requeue that is being undone. */
export async function discardRequeue(pool: pg.Pool, sagaId: string): Promise<void> {
  await pool.query(discardBatches, [sagaId])
}
