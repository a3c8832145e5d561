import type pg from 'pg'

/** migrations/0014: by idx_secret_ending. */
const removeEnded = 'SELECT sagapost.remove_ended_secrets() AS removed'

/** Deletes the ciphertext of every ended secret and returns their number. Under the role saga_app_role. */
export async function removeEndedSecrets(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ removed: number }>(removeEnded)
  return rows[0]?.removed ?? 0
}
