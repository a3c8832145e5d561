import type pg from 'pg'
import { isRowId } from '../database/index.js'

/**
 * By the primary key. One that is inactive keeps the reason it has. $3: one that was changed since (another
 * URL, a fresh verification) is no longer the one that the observation was about.
 */
const deactivate = `
  UPDATE sagapost.subscriptions
  SET active = false, deactivation_reason = $2
  WHERE id = $1 AND active AND ($3::timestamptz IS NULL OR updated_at <= $3)`

export type DeactivationReason = 'http_410'

export interface Observation {
  /** When the job started whose result led to this call, by the database's clock. */
  observedAt?: Date | undefined
}

/**
 * [J7] Deactivates a subscription whose receiver answered 410 Gone: it gets no new deliveries, and open ones are held.
 * The subscription stays verified, so its owner can activate it again. Returns true if this call deactivated it.
 */
export async function deactivateSubscription(
  pool: pg.Pool,
  id: string,
  reason: DeactivationReason,
  { observedAt }: Observation = {},
): Promise<boolean> {
  if (!isRowId(id)) return false
  const { rowCount } = await pool.query(deactivate, [id, reason, observedAt ?? null])
  return rowCount === 1
}
