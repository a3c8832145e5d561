import type pg from 'pg'

/** [S16] One statement each: the legal way from Pending to DeadLettered, which writes the dead letters. */
const moves = [
  `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = ANY ($1)`,
  `UPDATE sagapost.webhook_delivery_sagas
   SET status = 'PendingRetry', attempt_count = 1, final_error_code = $2 WHERE id = ANY ($1)`,
  `UPDATE sagapost.webhook_delivery_sagas SET status = 'DeadLettered' WHERE id = ANY ($1)`,
]

/** Many dead letters of one subscription, by set: events that nobody routes, deliveries, and their end. */
export async function insertDeadLetters(
  pool: pg.Pool,
  {
    count,
    subscriptionId,
    type = 'order.placed',
    errorCode = 'http_500',
  }: { count: number; subscriptionId: string; type?: string; errorCode?: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ ids: string[] }>(
    `WITH stored AS (
       INSERT INTO sagapost.events (event_type, payload)
       SELECT $3, json_build_object('order', number) FROM generate_series(1, $1::int) AS number RETURNING id
     ), made AS (
       INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
       SELECT id, $2 FROM stored RETURNING id
     )
     SELECT array_agg(id ORDER BY id) AS ids FROM made`,
    [count, subscriptionId, type],
  )
  await pool.query('DELETE FROM sagapost.event_routing_queue')
  const ids = rows[0]?.ids ?? []
  await pool.query(moves[0] as string, [ids])
  await pool.query(moves[1] as string, [ids, errorCode])
  await pool.query(moves[2] as string, [ids])
  const letters = await pool.query<{ id: string }>(
    'SELECT id FROM sagapost.dead_letters WHERE saga_id = ANY ($1) ORDER BY id',
    [ids],
  )
  return letters.rows.map(({ id }) => id)
}

/** How many deliveries each of the dead letters was requeued as. */
export async function requeuedTimes(
  pool: pg.Pool,
  letters: readonly string[],
): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    `SELECT times, count(*)::int AS letters FROM (
       SELECT letter.id, count(saga.id)::int AS times
       FROM unnest($1::bigint[]) AS letter (id)
       LEFT JOIN sagapost.webhook_delivery_sagas AS saga ON saga.requeued_from = letter.id GROUP BY 1) AS counted
     GROUP BY 1`,
    [letters],
  )
  return Object.fromEntries(rows.map(({ times, letters: count }) => [times, count]))
}
