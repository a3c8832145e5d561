import type pg from 'pg'

/** The webhook id that a stored event must have, worked out in whole numbers and not as the product does it. */
export async function webhookIdOfStored(pool: pg.Pool, eventId: string): Promise<string> {
  const { rows } = await pool.query<{ us: string }>(
    `SELECT (extract(epoch FROM created_at) * 1000000)::bigint::text AS us FROM sagapost.events WHERE id = $1`,
    [eventId],
  )
  if (!rows[0]) throw new Error(`there is no event ${eventId}`)
  return `evt_${eventId}_${BigInt(rows[0].us).toString(36)}`
}
