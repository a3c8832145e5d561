import type pg from 'pg'

/** The cascade takes steps and events along. */
export const deleteFinished = `
  DELETE FROM sagapost.saga_instances
  WHERE id = $1 AND state IN (3, 5, 6, 7, 8) AND NOT awaiting_operator`

/**
 * [G8] as cleanup_expired_sagas, but a batch at a time, so that no transaction is long and nobody waits: what is locked
 * is left for the next time. The oldest first, from idx_saga_terminal_cleanup (or idx_saga_updated_at, when nearly all are
 * finished and the two are the same size).
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
  batch: number,
  onBatch: (removed: number) => boolean = () => true,
): Promise<number> {
  let removed = 0
  for (;;) {
    const { rowCount } = await pool.query(deleteExpired, [olderThan, batch])
    removed += rowCount ?? 0
    const goOn = onBatch(removed)
    if (!goOn || (rowCount ?? 0) < batch) return removed
  }
}
