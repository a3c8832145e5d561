import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { type EventRange, inRange, prepared } from '../../database/index.js'
import { eventTimeUs, webhookIdOf } from '../../model/index.js'
import { type Stop, stopOf } from './stop.js'

export interface ClaimedJob {
  id: string
  deliveryId: string
  eventId: string
  webhookId: string
  subscriptionId: string
  attempt: number
  leaseToken: string
  leaseUntil: Date
  eventType: string
  /**
   * The event's bytes as stored. Null for a large payload, which is read before its request starts (large-payloads.ts).
   */
  payload: string | null
  correlationId: string | null
  traceparent: string | null
  callbackUrl: string
  headers: Record<string, string>
  /** Why the job is not sent; null when it is to be sent. */
  stop: Stop | null
}

// [J4, J9] Free jobs, oldest first by idx_job_status_lease; workers pass over each other's rows. The fresh random token, one
// for the claim, fences off earlier holders; after a crash that loses this commit it is refused. Payload and address come
// along, and one row in any case, with the time of the look. docs/internals/hot-statements.md: keys as arrays, no pruning
// while rows are locked, exclusions by a hash, lazy commits, large payloads apart.
export const claim = prepared(`
  WITH free AS MATERIALIZED (
    SELECT id, event_id, round(date_part('epoch', lease_until) * 1e6) / 1e3 AS free_since_ms
    FROM sagapost.webhook_delivery_jobs AS job
    WHERE status = 'Pending' AND lease_until <= sagapost.now() AND lease_until >= $7
      AND event_id >= $1 AND event_id < $2
      AND subscription_id NOT IN (SELECT unnest($6::bigint[])) AND ($8::bigint[] IS NULL OR id = ANY ($8))
    ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE sagapost.webhook_delivery_jobs AS job
    SET status = 'Leased', lease_until = sagapost.now() + $4 * interval '1 millisecond',
        lease_token = $9, worker_id = $5
    FROM free
    WHERE job.id = ANY (ARRAY[free.id]) AND job.event_id + 0 = free.event_id
      AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
    RETURNING job.id, saga_id, job.event_id, subscription_id, attempt, correlation_id, free_since_ms
  ), complete AS (
    SELECT claimed.*, event.event_type, event.traceparent, ${eventTimeUs} AS event_at_us, subscription.callback_url,
           subscription.headers, ${stopOf('claimed', 'subscription')} AS stop,
           CASE WHEN pg_column_size(event.payload) <= 8192 THEN event.payload::text END AS payload
    FROM claimed
    JOIN sagapost.events AS event ON event.id = ANY (array_append('{}', claimed.event_id))
      AND (event.id >= $1 OR event.id > $2) AND (event.id < $2 OR event.id <= $1)
    JOIN sagapost.subscriptions AS subscription ON subscription.id = ANY (ARRAY[claimed.subscription_id])
  )
  SELECT looked_at_ms, complete.*
  FROM (SELECT round(date_part('epoch', sagapost.now()) * 1e6) / 1e3 AS looked_at_ms,
               set_config('synchronous_commit', 'off', true)) AS look
  LEFT JOIN complete ON true`)

export interface ClaimOptions {
  range: EventRange
  batchMax: number
  leaseMs: number
  workerId: string
  /** A fresh random token. The worker generates it, so that it can find the claim when the answer is lost. */
  leaseToken?: string
  /** Subscriptions whose lanes are full or that are paused: their jobs stay free for other workers. */
  except: readonly string[]
  /** Jobs free since before this time are known to belong to the subscriptions in `except`. */
  freeSince?: Date | undefined
  /** Claim only these jobs. */
  only?: readonly string[]
}

export interface Claim {
  jobs: ClaimedJob[]
  /** Jobs free since before this time that were not claimed belong to `except` or are locked by another worker. */
  passedOverUntil: Date
}

/** Claims jobs under the role job_worker. No other worker can take them until the lease ends. */
export async function claimJobs(pool: pg.Pool, options: ClaimOptions): Promise<Claim> {
  const { range, batchMax, leaseMs, workerId, leaseToken = randomUUID(), except, freeSince, only } = options
  const { rows } = await pool.query(inRange(claim, range), [
    range.from,
    range.to,
    batchMax,
    leaseMs,
    workerId,
    except,
    freeSince ?? '-infinity',
    only ?? null,
    leaseToken,
  ])
  const lookedAtMs: number = rows[0].looked_at_ms
  const leaseUntil = new Date(lookedAtMs + leaseMs)
  const claimed = rows.filter((row) => row.id !== null)
  const jobs = claimed.map((row) => ({
    id: row.id,
    deliveryId: row.saga_id,
    eventId: row.event_id,
    webhookId: webhookIdOf(row.event_id, row.event_at_us),
    subscriptionId: row.subscription_id,
    attempt: row.attempt,
    leaseToken,
    leaseUntil,
    eventType: row.event_type,
    payload: row.payload,
    correlationId: row.correlation_id,
    traceparent: row.traceparent,
    callbackUrl: row.callback_url,
    headers: row.headers,
    stop: row.stop,
  }))
  // A full batch stopped at its last job; a smaller one searched up to the present.
  const times = claimed.length === batchMax ? claimed.map((row) => row.free_since_ms) : [lookedAtMs]
  return { jobs, passedOverUntil: new Date(Math.min(...times)) }
}
