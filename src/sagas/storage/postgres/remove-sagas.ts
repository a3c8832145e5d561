import type pg from 'pg'
import type { CleanUpOptions } from '../state-storage.js'

/** Each batch takes a fraction of a second: with its steps and events a saga is a dozen rows. */
const CLEANUP_BATCH = 500

/** The cascade takes steps and events along. */
export const deleteFinished = `
  DELETE FROM sagapost.saga_instances
  WHERE id = $1 AND state IN (3, 5, 6, 7, 8) AND NOT awaiting_operator`

/**
 * [G8] as cleanup_expired_sagas, but a batch at a time, so that no transaction is long and nobody waits: what is locked
 * is left for the next time. The oldest first, from idx_saga_terminal_cleanup.
 */
export const deleteExpired = `
  DELETE FROM sagapost.saga_instances WHERE id = ANY (ARRAY(
    SELECT id FROM sagapost.saga_instances
    WHERE state IN (3, 5, 6, 7, 8) AND updated_at < $1 AND NOT awaiting_operator
    ORDER BY updated_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED))`

export async function cleanUpExpired(
  pool: pg.Pool,
  olderThan: Date,
  { batch = CLEANUP_BATCH, limit = Number.POSITIVE_INFINITY, signal }: CleanUpOptions = {},
): Promise<number> {
  let removed = 0
  while (removed < limit && !signal?.aborted) {
    const wanted = Math.min(batch, limit - removed)
    const { rowCount } = await pool.query(deleteExpired, [olderThan, wanted])
    removed += rowCount ?? 0
    if ((rowCount ?? 0) < wanted) break
  }
  return removed
}
