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
  /** When the job began whose result speaks against the subscription, by the database's clock. */
  observedAt?: Date | undefined
}

/**
 * [J7] Sagapost's own switch, for a receiver that answered 410 Gone: no new deliveries, open ones are held. The
 * subscription stays verified, so its owner can simply activate it again. True if this call switched it off.
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
