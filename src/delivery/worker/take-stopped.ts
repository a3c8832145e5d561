import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { type EventRange, inRange, inTransaction } from '../../database/index.js'
import { putAside, type TakenJob } from './put-aside.js'
import { stopOf } from './stop.js'

/**
 * Takes what `found` finds, and says what is to become of it, as the rows stand. docs/internals/hot-statements.md: keys as
 * arrays, no pruning while rows are locked.
 */
const takeThose = (found: string) => `
  WITH found AS MATERIALIZED (${found}
    FOR UPDATE OF job SKIP LOCKED
  ), taken AS (
    UPDATE sagapost.webhook_delivery_jobs AS job
    SET status = 'Leased', lease_until = sagapost.now() + $4 * interval '1 millisecond', lease_token = $5, worker_id = $6
    FROM found WHERE job.id = ANY (ARRAY[found.id]) AND job.event_id + 0 = found.event_id
      AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
    RETURNING job.id, job.saga_id, job.event_id, job.subscription_id, job.attempt, job.correlation_id, job.lease_until,
      found.free_since
  )
  SELECT taken.*, round(date_part('epoch', free_since) * 1e6) / 1e3 AS free_since_ms,
    ${stopOf('taken', 'subscription')} AS stop
  FROM taken JOIN sagapost.subscriptions AS subscription ON subscription.id = ANY (ARRAY[taken.subscription_id])`

// Free jobs of subscriptions that are off, oldest first by idx_job_status_lease, from where the last look has ended.
export const takeFree = takeThose(`
    SELECT job.id, job.event_id, job.lease_until AS free_since FROM sagapost.webhook_delivery_jobs AS job
    WHERE job.status = 'Pending' AND job.lease_until <= sagapost.now() AND job.lease_until >= $8
      AND job.subscription_id IN (SELECT unnest($7::bigint[])) AND job.event_id >= $1 AND job.event_id < $2
    ORDER BY job.lease_until LIMIT $3`)

// Held jobs of subscriptions that are on again, or deleted: each subscription's by its own time, by idx_job_status_lease.
export const takeHeld = takeThose(`
    SELECT job.id, job.event_id, job.lease_until AS free_since
    FROM unnest($7::bigint[]) AS switched (id)
    JOIN sagapost.webhook_delivery_jobs AS job ON job.status = 'Pending' AND job.lease_until = sagapost.held_until(switched.id)
      AND job.event_id >= $1 AND job.event_id < $2
    LIMIT $3`)

// Jobs of cancelled deliveries, free or held or of a paused endpoint, by uniq_job_saga_active.
export const takeCancelled = takeThose(`
    SELECT job.id, job.event_id, job.lease_until AS free_since FROM sagapost.delivery_cancellations AS cancellation
    JOIN sagapost.webhook_delivery_jobs AS job ON job.saga_id = ANY (ARRAY[cancellation.saga_id]) AND job.status = 'Pending'
      AND job.event_id >= $1 AND job.event_id < $2
    LIMIT $3`)

export interface StoppedJob extends TakenJob {
  attempt: number
  correlationId: string | null
  leaseUntil: Date
}

export interface TakeOptions {
  range: EventRange
  batchMax: number
  leaseMs: number
  workerId: string
}

export interface StoppedBatch {
  jobs: StoppedJob[]
  /** Where the next look for free jobs continues. */
  lookedUntil: Date
}

/** In one transaction, so that no other session sees the jobs as leased. Under the role job_worker. */
async function take(
  pool: pg.Pool,
  statement: string,
  { range, batchMax, leaseMs, workerId }: TakeOptions,
  values: readonly unknown[],
): Promise<StoppedBatch> {
  return inTransaction(pool, async (client) => {
    const leaseToken = randomUUID()
    const { rows } = await client.query(inRange(statement, range), [
      range.from,
      range.to,
      batchMax,
      leaseMs,
      leaseToken,
      workerId,
      ...values,
    ])
    const jobs = rows.map((row) => ({
      id: row.id,
      deliveryId: row.saga_id,
      eventId: row.event_id,
      subscriptionId: row.subscription_id,
      attempt: row.attempt,
      correlationId: row.correlation_id,
      leaseUntil: row.lease_until,
      leaseToken,
      stop: row.stop,
    }))
    await putAside(client, jobs, () => ({ fresh: range, older: [], borders: [] }))
    return { jobs, lookedUntil: new Date(Math.max(0, ...rows.map((row) => row.free_since_ms))) }
  })
}

/** Holds or ends the free jobs of these subscriptions, depending on each one's present state. */
export const stopFreeJobs = (
  pool: pg.Pool,
  options: TakeOptions,
  subscriptionIds: readonly string[],
  freeSince: Date | undefined,
) => take(pool, takeFree, options, [subscriptionIds, freeSince ?? '-infinity'])

/** Releases or ends the held jobs of these subscriptions, depending on each one's present state. */
export const letGoHeldJobs = async (
  pool: pg.Pool,
  options: TakeOptions,
  subscriptionIds: readonly string[],
) => (await take(pool, takeHeld, options, [subscriptionIds])).jobs

/** Ends the jobs of cancelled deliveries that no worker is sending. */
export const stopCancelledJobs = async (pool: pg.Pool, options: TakeOptions) =>
  (await take(pool, takeCancelled, options, [])).jobs
