/** A dead letter as lists have it. */
export interface DeadLetter {
  id: string
  deliveryId: string
  eventId: string
  /** What the receiver got as `webhook-id`; null when the event's partition was removed. */
  webhookId: string | null
  subscriptionId: string
  eventType: string
  finalErrorCode: string | null
  failedAt: Date
  attemptCount: number
  /** Of the last attempt, as the next two [J11]. */
  jobId: string | null
  workerId: string | null
  leaseExpiration: Date | null
  correlationId: string | null
  /** The delivery that took it up again; null while nobody asked for one. */
  requeuedAs: string | null
}

export interface DeadLetterRow {
  id: string
  saga_id: string
  event_id: string
  subscription_id: string
  event_type: string
  final_error_code: string | null
  failed_at: Date
  attempt_count: number
  job_id: string | null
  worker_id: string | null
  lease_expiration: Date | null
  correlation_id: string | null
  requeued_as: string | null
}

export function toDeadLetter(row: DeadLetterRow, webhookId: string | null): DeadLetter {
  return {
    id: row.id,
    deliveryId: row.saga_id,
    eventId: row.event_id,
    webhookId,
    subscriptionId: row.subscription_id,
    eventType: row.event_type,
    finalErrorCode: row.final_error_code,
    failedAt: row.failed_at,
    attemptCount: row.attempt_count,
    jobId: row.job_id,
    workerId: row.worker_id,
    leaseExpiration: row.lease_expiration,
    correlationId: row.correlation_id,
    requeuedAs: row.requeued_as,
  }
}
