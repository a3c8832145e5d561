import type pg from 'pg'
import { findInRanges, isRowId } from '../../database/index.js'
import type { JobStatus } from '../../model/index.js'
import { type Attempt, type Delivery, type DeliveryRow, toDelivery } from './delivery.js'
import { readWebhookIds } from './read-webhook-ids.js'

/**
 * One row per attempt, oldest first, at least one row; in one statement, so that the delivery and its attempts
 * agree. By webhook_delivery_sagas_pkey in every partition, since the id does not tell the event, range by range
 * from the newest until it is found; then by uniq_job_saga_attempt in the one partition where it was.
 */
export const selectDelivery = `
  SELECT saga.id, saga.event_id, saga.subscription_id, saga.status, saga.attempt_count, saga.next_attempt_at,
         saga.final_error_code, saga.requeued_from, saga.created_at, saga.updated_at,
         job.id AS job_id, job.status AS job_status, job.attempt_at, job.worker_id, job.response_status,
         job.error_code, job.duration_ms, job.response_excerpt, job.lease_until, job.lease_resets, job.finished_at
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN LATERAL (
    SELECT * FROM sagapost.webhook_delivery_jobs WHERE saga_id = saga.id AND event_id = saga.event_id /* range of event_id */
  ) AS job ON true
  WHERE saga.id = $1 /* range of saga.event_id */
  ORDER BY job.attempt_at, job.id`

interface AttemptRow {
  job_id: string | null
  job_status: JobStatus
  attempt_at: Date
  worker_id: string | null
  response_status: number | null
  error_code: string | null
  duration_ms: number | null
  response_excerpt: string | null
  lease_until: Date
  lease_resets: number
  finished_at: Date | null
}

/** One delivery with its attempts, oldest first; null when it does not exist. Under the role saga_readonly_role. */
export async function getDelivery(
  pool: pg.Pool,
  id: string,
): Promise<(Delivery & { attempts: Attempt[] }) | null> {
  if (!isRowId(id)) return null
  const rows = await findInRanges<DeliveryRow & AttemptRow>(pool, selectDelivery, [id])
  const [row] = rows
  if (!row) return null
  const webhookIds = await readWebhookIds(pool, [row.event_id])
  return { ...toDelivery(row, webhookIds.get(row.event_id) ?? null), attempts: rows.flatMap(toAttempts) }
}

function toAttempts(row: AttemptRow): Attempt[] {
  if (row.job_id === null) return []
  return [
    {
      id: row.job_id,
      status: row.job_status,
      attemptAt: row.attempt_at,
      workerId: row.worker_id,
      responseStatus: row.response_status,
      errorCode: row.error_code,
      durationMs: row.duration_ms,
      responseExcerpt: row.response_excerpt,
      leaseUntil: row.job_status === 'Leased' ? row.lease_until : null,
      leaseResets: row.lease_resets,
      finishedAt: row.finished_at,
    },
  ]
}
