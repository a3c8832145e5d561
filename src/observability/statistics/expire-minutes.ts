import type pg from 'pg'

/** The charts show a day, and compare it with the one before. */
const MINUTES_KEPT_MS = 2 * 24 * 3_600_000
const ROWS_PER_CALL_MAX = 10_000

/** By idx_delivery_minutes_minute, a bounded number at a time. */
export const expireDeliveryMinutes = `
  DELETE FROM sagapost.delivery_minutes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sagapost.delivery_minutes
    WHERE minute < sagapost.now() - $1 * interval '1 millisecond' ORDER BY minute LIMIT $2))`

/** By event_minutes_pkey. */
const expireEventMinutes = `
  DELETE FROM sagapost.event_minutes WHERE minute < sagapost.now() - $1 * interval '1 millisecond'`

/** Under the role schema_maintainer; true when there may be more. */
export async function expireMinutes(pool: pg.Pool): Promise<boolean> {
  await pool.query(expireEventMinutes, [MINUTES_KEPT_MS])
  const { rowCount } = await pool.query(expireDeliveryMinutes, [MINUTES_KEPT_MS, ROWS_PER_CALL_MAX])
  return rowCount === ROWS_PER_CALL_MAX
}
