import type pg from 'pg'
import {
  cutBatch,
  type EventRange,
  inRange,
  inTransaction,
  isRefusal,
  prepared,
  type QueueRow,
  rangeOf,
  type WorkWindow,
} from '../../database/index.js'
import type { RetryPolicy } from './retry-policy.js'
import { type Stop, stopOf } from './stop-of.js'

interface AppliedResult {
  deliveryId: string
  jobId: string
  eventId: string
  subscriptionId: string
  workerId: string | null
  leaseExpiration: Date
  /** Age of the delivery, by the database's clock. */
  ageMs: number
  /** Duration of the request; null when the worker died before it reported. */
  durationMs: number | null
  status: 'Completed' | 'PendingRetry' | 'DeadLettered'
  attemptCount: number
  errorCode: string | null
  correlationId: string | null
}

const columns = `id, cardinality(job_ids) AS size, first_event_id, last_event_id,
         array_to_string(job_ids, ',') AS job_ids, array_to_string(event_ids, ',') AS event_ids`

// Oldest first by delivery_result_queue_pkey, as many rows as make up some $1 results; other orchestrators take others.
export const takeResults = prepared(`
  WITH size AS MATERIALIZED (
    SELECT greatest(1, $1 / (
      SELECT cardinality(job_ids) FROM sagapost.delivery_result_queue
      WHERE id <> ALL ($2::bigint[]) ORDER BY id LIMIT 1)) AS rows_max
  )
  SELECT ${columns}, (SELECT rows_max FROM size) AS rows_max
  FROM sagapost.delivery_result_queue
  WHERE id <> ALL ($2::bigint[])
  ORDER BY id LIMIT (SELECT rows_max FROM size)
  FOR UPDATE SKIP LOCKED`)

const takeRow = `
  SELECT ${columns}, 1 AS rows_max
  FROM sagapost.delivery_result_queue WHERE id = $1 FOR UPDATE SKIP LOCKED`

// [S4, S13] The rows of the queue go with the sagas' moves or not at all, and only the attempt that a saga's count has not
// reached yet is new to it: a result counts once. attempt_count on the right of SET is the count before: 2^(n − 1) of the
// formula [S14]. docs/internals/hot-statements.md: keys as arrays, status as text, roundabout bounds, values as arrays.
export const applyNewResults = prepared(`
  WITH done AS (
    DELETE FROM sagapost.delivery_result_queue WHERE id = ANY ($3::bigint[])
  ), result AS MATERIALIZED (
    SELECT job.id, job.saga_id, job.event_id, job.subscription_id, job.attempt, job.status = 'Completed' AS succeeded,
           job.error_code, job.retry_after_s, job.worker_id, job.lease_until, job.duration_ms
    FROM unnest($8::bigint[], $9::bigint[]) AS finished (job_id, event_id)
    JOIN sagapost.webhook_delivery_jobs AS job
      ON job.id = ANY (ARRAY[finished.job_id]) AND job.event_id = ANY (ARRAY[finished.event_id])
      AND job.status::text IN ('Completed', 'Failed')
      AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
  )
  UPDATE sagapost.webhook_delivery_sagas AS saga
  SET status = (CASE WHEN succeeded THEN 'Completed' ELSE 'PendingRetry' END)::sagapost.delivery_status,
      attempt_count = attempt_count + 1,
      final_error_code = CASE WHEN succeeded THEN NULL ELSE error_code END,
      next_attempt_at = CASE WHEN succeeded THEN next_attempt_at ELSE
        sagapost.now() + interval '1 millisecond'
          * greatest(least($5 * 2.0 ^ attempt_count, $6), least(coalesce(retry_after_s, 0), $7) * 1000.0) END,
      updated_at = sagapost.now()
  FROM result
  WHERE saga.id = ANY (ARRAY[result.saga_id]) AND saga.event_id + 0 = result.event_id
    AND saga.status = 'InProgress' AND saga.attempt_count = result.attempt - 1
    AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)
  RETURNING saga.id AS saga_id, result.id AS job_id, saga.event_id, saga.subscription_id, worker_id,
    round(date_part('epoch', lease_until) * 1e6) / 1e3 AS lease_until_ms, duration_ms, saga.status, saga.attempt_count,
    saga.final_error_code, saga.correlation_id,
    date_part('epoch', sagapost.now() - saga.created_at) * 1e3 AS age_ms,
    CASE WHEN succeeded THEN false ELSE saga.attempt_count >= coalesce(
      (SELECT max_attempts FROM sagapost.subscriptions WHERE id = saga.subscription_id), $4) END AS dead,
    CASE WHEN succeeded THEN NULL ELSE ${stopOf(
      'saga.id',
      'EXISTS (SELECT FROM sagapost.subscriptions WHERE id = saga.subscription_id AND deleted_at IS NOT NULL)',
    )} END AS stop`)

// [S17] A statement of its own (docs/internals/hot-statements.md: two moves, two statements). The move itself writes the
// dead letter.
export const deadLetter = `
  UPDATE sagapost.webhook_delivery_sagas AS saga
  SET status = 'DeadLettered', final_error_code = coalesce(dead.stop, saga.final_error_code), updated_at = sagapost.now()
  FROM unnest($3::bigint[], $4::bigint[], $5::text[]) AS dead (id, event_id, stop)
  WHERE saga.id = ANY (ARRAY[dead.id]) AND saga.event_id + 0 = dead.event_id
    AND saga.status = 'PendingRetry'
    AND (saga.event_id >= $1 OR saga.event_id > $2) AND (saga.event_id < $2 OR saga.event_id <= $1)`

interface Row {
  saga_id: string
  job_id: string
  event_id: string
  subscription_id: string
  worker_id: string | null
  /** A number and not a time, because every delivery has one and parsing a time takes 5 µs. */
  lease_until_ms: number
  age_ms: number
  duration_ms: number | null
  status: 'Completed' | 'PendingRetry'
  attempt_count: number
  final_error_code: string | null
  correlation_id: string | null
  /** The delivery has no attempts left. */
  dead: boolean
  stop: Stop | null
}

export interface AppliedBatch {
  results: AppliedResult[]
  /** Whether the queue may hold more. */
  more: boolean
}

interface QueuedResults extends QueueRow {
  id: string
  first_event_id: string
  last_event_id: string
  /** Comma-separated, in the form in which they are passed back. */
  job_ids: string
  event_ids: string
}

export interface ApplyOptions {
  batchMax: number
  policy: RetryPolicy
  window: () => WorkWindow
  /** Rows of the queue to skip. */
  except?: readonly string[]
}

/** The database refused the result of one of these queue rows; all of them remain in the queue. */
export class ResultsRefused extends Error {
  readonly queueIds: readonly string[]

  constructor(queueIds: readonly string[], cause: Error) {
    super(cause.message, { cause })
    this.queueIds = queueIds
  }
}

/** Applies new results and writes their dead letters in one transaction, under the role saga_orchestrator. */
export function applyResults(
  pool: pg.Pool,
  { batchMax, policy, window, except = [] }: ApplyOptions,
): Promise<AppliedBatch> {
  return applyTaken(pool, policy, async (client) => {
    const { rows } = await client.query<QueuedResults>(takeResults, [batchMax, except])
    const { batch, more } = cutBatch(rows, batchMax)
    return ofOneRange(window(), batch, more)
  })
}

/** Applies the results of one queue row, unless another orchestrator holds it. */
export function applyRow(
  pool: pg.Pool,
  queueId: string,
  { policy, window }: Pick<ApplyOptions, 'policy' | 'window'>,
): Promise<AppliedBatch> {
  return applyTaken(pool, policy, async (client) => {
    const { rows: batch } = await client.query<QueuedResults>(takeRow, [queueId])
    return ofOneRange(window(), batch, false)
  })
}

interface Taken {
  batch: QueuedResults[]
  range: EventRange
  more: boolean
}

/**
 * The results in the range of the first one. A queue row never spans ranges, because workers report per range; the
 * other rows come with the next batch.
 */
function ofOneRange(window: WorkWindow, taken: readonly QueuedResults[], more: boolean): Taken {
  const [first] = taken
  if (!first) return { batch: [], range: window.fresh, more: false }
  const range = rangeOfRow(window, first)
  const batch = taken.filter((row) => {
    const { from, to } = rangeOfRow(window, row)
    return from === range.from && to === range.to
  })
  return { batch, range, more: more || batch.length < taken.length }
}

function rangeOfRow(window: WorkWindow, { first_event_id, last_event_id }: QueuedResults): EventRange {
  const first = rangeOf(window, first_event_id)
  const last = rangeOf(window, last_event_id)
  return first.from === last.from ? first : { from: first.from, to: last.to }
}

async function applyTaken(
  pool: pg.Pool,
  policy: RetryPolicy,
  take: (client: pg.PoolClient) => Promise<Taken>,
): Promise<AppliedBatch> {
  let queueIds: string[] = []
  try {
    return await inTransaction(pool, async (client) => {
      const { batch, range, more } = await take(client)
      if (batch.length === 0) return { results: [], more: false }
      queueIds = batch.map(({ id }) => id)
      const { rows: applied } = await client.query<Row>(inRange(applyNewResults, range), [
        range.from,
        range.to,
        queueIds,
        policy.limit,
        policy.baseDelayMs,
        policy.maxDelayMs,
        policy.retryAfterMaxS,
        `{${batch.map(({ job_ids }) => job_ids).join()}}`,
        `{${batch.map(({ event_ids }) => event_ids).join()}}`,
      ])
      const dead = applied.filter(isDead)
      if (dead.length > 0) {
        await client.query(inRange(deadLetter, range), [
          range.from,
          range.to,
          dead.map(({ saga_id }) => saga_id),
          dead.map(({ event_id }) => event_id),
          dead.map(({ stop }) => stop),
        ])
      }
      return { results: applied.map(toResult), more }
    })
  } catch (error) {
    throw isRefusal(error) && queueIds.length > 0 ? new ResultsRefused(queueIds, error) : error
  }
}

const isDead = ({ dead, stop }: Row) => dead || stop !== null

function toResult(row: Row): AppliedResult {
  return {
    deliveryId: row.saga_id,
    jobId: row.job_id,
    eventId: row.event_id,
    subscriptionId: row.subscription_id,
    workerId: row.worker_id,
    leaseExpiration: new Date(row.lease_until_ms),
    ageMs: row.age_ms,
    durationMs: row.duration_ms,
    status: isDead(row) ? 'DeadLettered' : row.status,
    attemptCount: row.attempt_count,
    errorCode: row.stop ?? row.final_error_code,
    correlationId: row.correlation_id,
  }
}
