/** A dead letter as it appears in lists. */
export interface DeadLetter {
  id: string
  deliveryId: string
  eventId: string
  /** The `webhook-id` that the receiver got; null once the event's partition is removed. */
  webhookId: string | null
  subscriptionId: string
  eventType: string
  finalErrorCode: string | null
  failedAt: Date
  attemptCount: number
  /** From the last attempt, like the next two fields [J11]. */
  jobId: string | null
  workerId: string | null
  leaseExpiration: Date | null
  correlationId: string | null
  /** The delivery that a requeue created; null when the letter was never requeued. */
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
