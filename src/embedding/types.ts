import type { ErrorCode } from '../errors/index.js'
import type { DeliveryStatus, JobStatus } from '../model/index.js'

// The complete public types of an instance, so that a user's compiler needs neither `pg` nor `fastify`.
// test/embedding/types.test.ts compares them with the types of the operations.

/** A `pg` Client, PoolClient or Pool, or anything with the same query interface. */
export interface QueryClient {
  // biome-ignore lint/suspicious/noExplicitAny: rows are whatever the statement returns
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>
}

interface EventValues {
  type: string
  /** A repeated key with the same type and payload returns the first event's id and stores nothing. */
  idempotencyKey?: string | undefined
  correlationId?: string | undefined
  traceparent?: string | undefined
}

export type EventToPublish = EventValues &
  (
    | { /** Any JSON value. */ payload: unknown; payloadJson?: undefined }
    | { /** JSON text, stored byte for byte. */ payloadJson: string; payload?: undefined }
  )

export type PublishOutcome =
  | {
      id: string
      /** Sent to receivers as `webhook-id`. */
      webhookId: string
      type: string
      createdAt: Date
      /** True when the key was already used and nothing was stored. */
      duplicate: boolean
    }
  | { error: { code: ErrorCode; field: string; detail: string } }

export interface PageRequest {
  /** `nextCursor` of the previous page. */
  cursor?: string | undefined
  /** 1 to 200; default 50. */
  limit?: number | undefined
}

/** Newest first. */
export interface Page<Item> {
  data: Item[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** `from` inclusive, `to` exclusive. */
interface TimeRange {
  from?: Date | undefined
  to?: Date | undefined
}

export interface Event {
  id: string
  /** Sent to receivers as `webhook-id`: the same for every attempt and requeue, and unique to the event. */
  webhookId: string
  type: string
  createdAt: Date
  correlationId: string | null
}

export interface WholeEvent extends Event {
  /** Byte for byte as published. */
  payloadJson: string
  /** True when it is larger than 16 MiB, which no part reads; `payloadJson` is then `null`. */
  payloadTooLarge?: boolean
  /** Newest first, at most 200. */
  deliveries: Delivery[]
  /** Cursor for `deliveries.list({ eventId })`, when there are more. */
  deliveriesNextCursor: string | null
}

export interface EventFilter extends PageRequest, TimeRange {
  type?: string | undefined
  /** Matches the one event published with this key. */
  idempotencyKey?: string | undefined
}

export interface NewSubscription {
  eventType: string
  callbackUrl: string
  /** Null for the instance's `retryLimit`. */
  maxAttempts?: number | null | undefined
  /** Sent with every delivery. */
  headers?: Record<string, string> | undefined
  /** How deliveries are signed: HMAC (`v1`, the default) or ed25519 (`v1a`). */
  scheme?: 'v1' | 'v1a' | undefined
}

export interface SubscriptionChange {
  eventType?: string | undefined
  /** A changed URL must be verified again. */
  callbackUrl?: string | undefined
  maxAttempts?: number | null | undefined
  headers?: Record<string, string> | undefined
  active?: boolean | undefined
}

export interface Subscription {
  id: string
  eventType: string
  callbackUrl: string
  active: boolean
  verified: boolean
  maxAttempts: number | null
  headers: Record<string, string>
  createdAt: Date
  updatedAt: Date
  /** When set, the subscription is immutable, gets no new deliveries and stays readable. */
  deletedAt: Date | null
  /** Why Sagapost deactivated the subscription (`http_410`). */
  deactivationReason: string | null
  /** State of the endpoint's circuit breaker; null when the endpoint is healthy. */
  breaker: Breaker | null
}

export interface Breaker {
  /** `open`: paused except for occasional probes. */
  state: 'failing' | 'open' | 'exhausted'
  failures: number
  failingSince: Date
  lastErrorCode: string | null
  openedAt: Date | null
  pausedUntil: Date | null
  nextProbeAt: Date | null
}

export interface CreatedSubscription extends Subscription {
  /** The secret that the receiver verifies with. Shown only once; only a ciphertext is stored. */
  secret: string
}

export interface SubscriptionFilter extends PageRequest {
  eventType?: string | undefined
  active?: boolean | undefined
  /** Absent: both deleted and other subscriptions. */
  deleted?: boolean | undefined
  /** Whether the last attempt failed. */
  failing?: boolean | undefined
}

export interface RepeatableRequest {
  /** A repeated request with its key returns the same result and creates nothing. */
  idempotencyKey?: string | undefined
}

export interface Rotation extends RepeatableRequest {
  /** How long requests are signed with both secrets; default one day. Use 0 after a leak. */
  overlapMs?: number | undefined
  scheme?: 'v1' | 'v1a' | undefined
}

export interface RotatedSecret {
  secret: string
  previousExpiresAt: Date | null
}

/** The response of a receiver. */
export interface RequestOutcome {
  delivered: boolean
  responseStatus: number | null
  /** Listed in docs/reference/delivery-errors.md. */
  errorCode: string | null
  durationMs: number
  responseExcerpt: string | null
}

export type VerificationOutcome =
  | { verified: true; response: RequestOutcome }
  | { verified: false; reason: VerificationFailure; detail: string; response: RequestOutcome }

export type VerificationFailure =
  | 'request_failed'
  | 'challenge_missing'
  | 'callback_url_changed'
  | 'subscription_deleted'
  | 'superseded'

export interface Delivery {
  id: string
  eventId: string
  /** The event's webhook id; null when its partition was removed. */
  webhookId: string | null
  subscriptionId: string
  status: DeliveryStatus
  attemptCount: number
  /** Null when the delivery has ended. */
  nextAttemptAt: Date | null
  /** Error code of the last failure; null once Completed. */
  finalErrorCode: string | null
  /** The dead letter that this delivery was created from. */
  requeuedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

export interface Attempt {
  id: string
  status: JobStatus
  attemptAt: Date
  workerId: string | null
  responseStatus: number | null
  errorCode: string | null
  durationMs: number | null
  responseExcerpt: string | null
  /** When the worker's lease expires; null unless Leased. */
  leaseUntil: Date | null
  /** The number of leases that were lost. */
  leaseResets: number
  finishedAt: Date | null
}

export interface WholeDelivery extends Delivery {
  /** Oldest first. */
  attempts: Attempt[]
}

export interface DeliveryFilter extends PageRequest {
  status?: DeliveryStatus | undefined
  eventId?: string | undefined
  subscriptionId?: string | undefined
  /** Error code of the last failure; matches deliveries in PendingRetry and DeadLettered. */
  errorCode?: string | undefined
  eventType?: string | undefined
}

export interface DeadLetter {
  id: string
  deliveryId: string
  eventId: string
  /** The event's webhook id; null when its partition was removed. */
  webhookId: string | null
  subscriptionId: string
  eventType: string
  finalErrorCode: string | null
  failedAt: Date
  attemptCount: number
  /** Of the last attempt, like the next two. */
  jobId: string | null
  workerId: string | null
  leaseExpiration: Date | null
  correlationId: string | null
  /** The delivery created by the requeue. */
  requeuedAs: string | null
}

export interface WholeDeadLetter extends DeadLetter {
  /** The event's payload, byte for byte. */
  payloadSnapshotJson: string
  /** True when it is larger than 16 MiB, which no part reads; `payloadSnapshotJson` is then `null`. */
  payloadTooLarge?: boolean
}

export interface DeadLetterFilter extends PageRequest, TimeRange {
  subscriptionId?: string | undefined
  eventType?: string | undefined
  errorCode?: string | undefined
}

export interface RequeueFilter extends TimeRange {
  subscriptionId?: string | undefined
  eventType?: string | undefined
  errorCode?: string | undefined
  /** Selects all dead letters; an empty filter is refused. */
  all?: true | undefined
}

export interface StartedRequeue {
  sagaId: string
  /** The number of matching dead letters. */
  matching: number
  /** False when an earlier request with the key started the saga. */
  created: boolean
}

export interface Requeued {
  deliveryId: string
  /** False when an earlier request created the delivery. */
  created: boolean
}
