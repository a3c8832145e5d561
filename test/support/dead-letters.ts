import type pg from 'pg'
import { inTransaction } from '../../src/database/index.js'

/** [S16] One statement each: the legal way from Pending to DeadLettered, which writes the dead letters. */
const moves = [
  `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = ANY ($1)`,
  `UPDATE sagapost.webhook_delivery_sagas
   SET status = 'PendingRetry', attempt_count = 1, final_error_code = $2 WHERE id = ANY ($1)`,
  `UPDATE sagapost.webhook_delivery_sagas SET status = 'DeadLettered' WHERE id = ANY ($1)`,
]

export interface NewDeadLetters {
  count: number
  subscriptionId: string
  type?: string
  errorCode?: string
}

/**
 * Many dead letters of one subscription, by set: events that nobody routes, deliveries, and their end. In one transaction:
 * the orchestrator of a server that runs would take them up half-way.
 */
export function insertDeadLetters(pool: pg.Pool, letters: NewDeadLetters): Promise<string[]> {
  return inTransaction(pool, (client) => insertDeadLettersIn(client, letters))
}

/** In a transaction that is open. */
export async function insertDeadLettersIn(
  client: pg.PoolClient,
  { count, subscriptionId, type = 'order.placed', errorCode = 'http_500' }: NewDeadLetters,
): Promise<string[]> {
  const { rows: events } = await client.query<{ ids: string[] }>(
    `WITH stored AS (
       INSERT INTO sagapost.events (event_type, payload)
       SELECT $2, json_build_object('order', number) FROM generate_series(1, $1::int) AS number RETURNING id
     )
     SELECT array_agg(id ORDER BY id) AS ids FROM stored`,
    [count, type],
  )
  const eventIds = events[0]?.ids
  await client.query('DELETE FROM sagapost.event_routing_queue WHERE event_ids && $1::bigint[]', [eventIds])
  const { rows: made } = await client.query<{ id: string }>(
    `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
     SELECT unnest($1::bigint[]), $2 RETURNING id`,
    [eventIds, subscriptionId],
  )
  const ids = made.map(({ id }) => id)
  await client.query(moves[0] as string, [ids])
  await client.query(moves[1] as string, [ids, errorCode])
  await client.query(moves[2] as string, [ids])
  const { rows: letters } = await client.query<{ id: string }>(
    'SELECT id FROM sagapost.dead_letters WHERE saga_id = ANY ($1) ORDER BY id',
    [ids],
  )
  return letters.map(({ id }) => id)
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
