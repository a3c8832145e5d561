import type pg from 'pg'

const KEYS_PER_CALL_MAX = 10_000

// By idx_event_keys_created, in steps that hold their locks for a moment only.
const expireKeys = `
  SELECT sagapost.expire_event_keys(sagapost.now() - $1 * interval '1 millisecond', $2) AS expired`

/**
 * Deletes idempotency keys older than the window [E3], under the role schema_maintainer. Returns true when there may be
 * more.
 */
export async function expireEventKeys(pool: pg.Pool, windowMs: number): Promise<boolean> {
  const { rows } = await pool.query<{ expired: number }>(expireKeys, [windowMs, KEYS_PER_CALL_MAX])
  return rows[0]?.expired === KEYS_PER_CALL_MAX
}
