import { type DeliveryStatus, deliveryMachine, isFinal, type JobStatus } from '../../model/index.js'

/** A delivery saga, as every operation returns it. */
export interface Delivery {
  id: string
  eventId: string
  /** What the receiver gets as `webhook-id`; null when the event's partition was removed. */
  webhookId: string | null
  subscriptionId: string
  status: DeliveryStatus
  attemptCount: number
  /** Null when it is final: there is no next one. */
  nextAttemptAt: Date | null
  /** Of the last failure; null once it is Completed. */
  finalErrorCode: string | null
  /** The dead letter that it takes up again; null for a routed delivery. */
  requeuedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

/** One job: one request to the receiver, or the plan of one. */
export interface Attempt {
  id: string
  status: JobStatus
  attemptAt: Date
  workerId: string | null
  responseStatus: number | null
  errorCode: string | null
  durationMs: number | null
  responseExcerpt: string | null
  /** When the lease of whoever sends it ends; null unless it is Leased. */
  leaseUntil: Date | null
  /** How often a lease on it was lost. */
  leaseResets: number
  finishedAt: Date | null
}

export interface DeliveryRow {
  id: string
  event_id: string
  subscription_id: string
  status: DeliveryStatus
  attempt_count: number
  next_attempt_at: Date
  final_error_code: string | null
  requeued_from: string | null
  created_at: Date
  updated_at: Date
}

export function toDelivery(row: DeliveryRow, webhookId: string | null): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    webhookId,
    subscriptionId: row.subscription_id,
    status: row.status,
    attemptCount: row.attempt_count,
    nextAttemptAt: isFinal(deliveryMachine, row.status) ? null : row.next_attempt_at,
    finalErrorCode: row.final_error_code,
    requeuedFrom: row.requeued_from,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
