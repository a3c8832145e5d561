import type pg from 'pg'
import type { DeliveryStatus, JobStatus } from '../../src/model/index.js'

type Queryable = pg.Pool | pg.PoolClient | pg.Client

async function insertedId(client: Queryable, sql: string, values: unknown[]): Promise<string> {
  const { rows } = await client.query<{ id: string }>(sql, values)
  const id = rows[0]?.id
  if (id === undefined) throw new Error('nothing was inserted')
  return id
}

export function insertEvent(
  client: Queryable,
  { type = 'order.placed', payload = '{"order": 7}' } = {},
): Promise<string> {
  return insertedId(
    client,
    'INSERT INTO sagapost.events (event_type, payload) VALUES ($1, $2) RETURNING id',
    [type, payload],
  )
}

/** Active and verified unless told otherwise: as the owner, who may. What is published from then on must reach it. */
export async function insertSubscription(
  client: Queryable,
  { type = 'order.placed', url = 'https://receiver.example/hooks', active = true, verified = true } = {},
): Promise<string> {
  const id = await insertedId(
    client,
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified) VALUES ($1, $2, $3, $4) RETURNING id`,
    [type, url, active, verified],
  )
  await client.query('SELECT sagapost.open_routes()')
  return id
}

export interface Delivery {
  id: string
  eventId: string
  subscriptionId: string
}

/** The legal way to each status, as the orchestrator would take it. */
const wayTo: Record<DeliveryStatus, readonly DeliveryStatus[]> = {
  Pending: [],
  InProgress: ['InProgress'],
  PendingRetry: ['InProgress', 'PendingRetry'],
  Completed: ['InProgress', 'Completed'],
  DeadLettered: ['InProgress', 'PendingRetry', 'DeadLettered'],
}

/** An event, a subscription unless one is given, and the delivery saga between them in the status that is asked for. */
export async function insertDelivery(
  client: Queryable,
  status: DeliveryStatus = 'Pending',
  to?: string,
): Promise<Delivery> {
  const eventId = await insertEvent(client)
  const subscriptionId = to ?? (await insertSubscription(client))
  const id = await insertedId(
    client,
    'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2) RETURNING id',
    [eventId, subscriptionId],
  )
  for (const step of wayTo[status]) {
    const counted = step === 'Completed' || step === 'PendingRetry'
    await client.query(
      `UPDATE sagapost.webhook_delivery_sagas
       SET status = $2::sagapost.delivery_status, attempt_count = attempt_count + $3,
           final_error_code = CASE WHEN $2 = 'PendingRetry' THEN 'http_500' ELSE final_error_code END
       WHERE id = $1`,
      [id, step, counted ? 1 : 0],
    )
  }
  return { id, eventId, subscriptionId }
}

/** A delivery whose event is gone: only the owner can make one, without the guard. */
export async function insertDeliveryWithoutEvent(
  pool: pg.Pool,
  eventId: string,
  createdAgo = '0 s',
): Promise<string> {
  const guard = 'TRIGGER delivery_fits_subscription'
  await pool.query(`ALTER TABLE sagapost.webhook_delivery_sagas DISABLE ${guard}`)
  try {
    return await insertedId(
      pool,
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, created_at)
       VALUES ($1, $2, sagapost.now() - $3::interval) RETURNING id`,
      [eventId, await insertSubscription(pool), createdAgo],
    )
  } finally {
    await pool.query(`ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS ${guard}`)
  }
}

const jobWayTo: Record<JobStatus, readonly JobStatus[]> = {
  Pending: [],
  Leased: ['Leased'],
  Completed: ['Leased', 'Completed'],
  Failed: ['Leased', 'Failed'],
}

/** The next job of the delivery, in the status that is asked for. */
export async function insertJob(
  client: Queryable,
  delivery: Delivery,
  status: JobStatus = 'Pending',
): Promise<string> {
  const id = await insertedId(
    client,
    `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
     VALUES ($1, $2, $3, coalesce(
       (SELECT attempt_count + 1 FROM sagapost.webhook_delivery_sagas WHERE id = $1 AND event_id = $2), 1)) RETURNING id`,
    [delivery.id, delivery.eventId, delivery.subscriptionId],
  )
  for (const step of jobWayTo[status]) {
    await client.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = $2, lease_token = gen_random_uuid(), worker_id = 'worker-1'
       WHERE id = $1`,
      [id, step],
    )
  }
  return id
}
