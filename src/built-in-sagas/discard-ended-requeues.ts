import type pg from 'pg'

/** migrations/0014: the few batches there are, and their sagas by primary key. */
const discardEnded = 'SELECT sagapost.discard_ended_requeues() AS discarded'

/**
 * Deletes the plans of requeues that were cancelled before they began, and returns the number of batches. Under the
 * role saga_app_role.
 */
export async function discardEndedRequeues(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ discarded: number }>(discardEnded)
  return rows[0]?.discarded ?? 0
}
