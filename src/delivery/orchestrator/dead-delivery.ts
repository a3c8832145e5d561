/** A dead-lettered delivery, with the fields of its last job that the log needs [J11]. */
export interface DeadDelivery {
  deliveryId: string
  eventId: string
  subscriptionId: string
  jobId: string
  workerId: string | null
  leaseExpiration: Date
  errorCode: string | null
  attemptCount: number
  correlationId: string | null
}

/** SQL: the failed jobs of a row of `delivery`, by idx_job_saga; the caller takes the last. */
export const selectFailedJobs = (delivery: string) => `
    SELECT id, worker_id, lease_until FROM sagapost.webhook_delivery_jobs AS job
    WHERE job.saga_id = ANY (ARRAY[${delivery}.id]) AND job.event_id + 0 = ${delivery}.event_id AND job.status = 'Failed'`

/**
 * SQL: the event of a row of `saga` in the range from $1 to $2 exists, by events_pkey. Without it there is nothing to
 * snapshot, and the database refuses the whole batch. docs/internals/hot-statements.md: no pruning while rows are locked.
 */
export const hasEvent = `
    EXISTS (SELECT FROM sagapost.events AS event WHERE event.id = ANY (array_append('{}', saga.event_id))
      AND (event.id >= $1 OR event.id > $2) AND (event.id < $2 OR event.id <= $1))`

/** SQL: a row of `saga` has no active job. With one, the database refuses to move the saga on. */
export const hasNoActiveJob = `
    NOT EXISTS (SELECT FROM sagapost.webhook_delivery_jobs AS job
      WHERE job.saga_id = ANY (ARRAY[saga.id]) AND job.event_id + 0 = saga.event_id AND job.status IN ('Pending', 'Leased')
        AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1))`

export const lastJobColumns = 'last_job.id AS job_id, last_job.worker_id, last_job.lease_until'

export interface DeadRow {
  id: string
  event_id: string
  subscription_id: string
  correlation_id: string | null
  attempt_count: number
  error_code: string | null
  job_id: string
  worker_id: string | null
  lease_until: Date
}

export const toDead = (row: DeadRow): DeadDelivery => ({
  deliveryId: row.id,
  eventId: row.event_id,
  subscriptionId: row.subscription_id,
  jobId: row.job_id,
  workerId: row.worker_id,
  leaseExpiration: row.lease_until,
  errorCode: row.error_code,
  attemptCount: row.attempt_count,
  correlationId: row.correlation_id,
})
