import type pg from 'pg'
import { type EventRange, inRange } from '../../database/index.js'

export interface LeaseReset {
  jobId: string
  deliveryId: string
  eventId: string
  subscriptionId: string
  correlationId: string | null
  status: 'Pending' | 'Failed'
  workerId: string | null
  leaseExpiration: Date
  leaseResets: number
}

// [J8] Jobs past their lease, oldest first by idx_job_status_lease. After several lost leases the job fails, so that
// a payload that kills workers ends as a dead letter and not as an endless loop (DESIGN 2.8). Two cleaners at once
// pass over each other's rows; a job that was reset is not Leased any more, so a second run finds nothing. It is free
// from now on: with the end of its lease for that, a worker that has looked on from there would not find it. Keys and
// bounds: see orchestrator/make-jobs.ts.
export const reset = `
  WITH stale AS MATERIALIZED (
    SELECT id, event_id, lease_until FROM sagapost.webhook_delivery_jobs AS job
    WHERE status = 'Leased' AND lease_until < sagapost.now() AND event_id >= $1 AND event_id < $2
    ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
  )
  UPDATE sagapost.webhook_delivery_jobs AS job
  SET status = (CASE WHEN lease_resets + 1 >= $4 THEN 'Failed' ELSE 'Pending' END)::sagapost.job_status,
      lease_until = CASE WHEN lease_resets + 1 >= $4 THEN job.lease_until ELSE sagapost.now() END,
      lease_resets = lease_resets + 1,
      error_code = CASE WHEN lease_resets + 1 >= $4 THEN 'lease_expired' END,
      finished_at = CASE WHEN lease_resets + 1 >= $4 THEN sagapost.now() END
  FROM stale
  WHERE job.id = ANY (ARRAY[stale.id]) AND job.event_id + 0 = stale.event_id
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
  RETURNING job.id, saga_id, job.event_id, subscription_id, correlation_id, status, worker_id, stale.lease_until, lease_resets`

/** The Lease Reset Cleaner's one statement, under the role job_worker. It never touches a saga. */
export async function resetLeases(
  pool: pg.Pool,
  { range, batchMax, lostLeasesMax }: { range: EventRange; batchMax: number; lostLeasesMax: number },
): Promise<LeaseReset[]> {
  const { rows } = await pool.query(inRange(reset, range), [range.from, range.to, batchMax, lostLeasesMax])
  return rows.map((row) => ({
    jobId: row.id,
    deliveryId: row.saga_id,
    eventId: row.event_id,
    subscriptionId: row.subscription_id,
    correlationId: row.correlation_id,
    status: row.status,
    workerId: row.worker_id,
    leaseExpiration: row.lease_until,
    leaseResets: row.lease_resets,
  }))
}
