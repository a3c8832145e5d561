import { type DeliveryStatus, deliveryMachine, isFinal, type JobStatus } from '../../model/index.js'

/** A delivery saga, as every operation returns it. */
export interface Delivery {
  id: string
  eventId: string
  /** The `webhook-id` that the receiver gets; null once the event's partition is removed. */
  webhookId: string | null
  subscriptionId: string
  status: DeliveryStatus
  attemptCount: number
  /** Null in a final state. */
  nextAttemptAt: Date | null
  /** The error of the last failure; null once the delivery is Completed. */
  finalErrorCode: string | null
  /** The dead letter that this delivery requeues; null for a routed delivery. */
  requeuedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

/** One job: one request to the receiver, made or planned. */
export interface Attempt {
  id: string
  status: JobStatus
  attemptAt: Date
  workerId: string | null
  responseStatus: number | null
  errorCode: string | null
  durationMs: number | null
  responseExcerpt: string | null
  /** When the worker's lease ends; null unless the job is Leased. */
  leaseUntil: Date | null
  /** How many leases on the job were lost. */
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
