import type { ErrorCode } from '../errors/index.js'
import type { DeliveryStatus, JobStatus } from '../model/index.js'

// What the instance takes and returns, whole: the declarations that a user compiles against import nothing but these,
// no `pg`, no `fastify`. test/embedding/types.test.ts compares them with the types of the operations.

/** A `pg` Client, PoolClient or Pool, or anything that queries as they do. */
export interface QueryClient {
  // biome-ignore lint/suspicious/noExplicitAny: rows are whatever the statement returns
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>
}

interface EventValues {
  type: string
  /** The same key with the same type and payload again: the first event's id, and nothing new. */
  idempotencyKey?: string | undefined
  correlationId?: string | undefined
  traceparent?: string | undefined
}

export type EventToPublish = EventValues &
  (
    | { /** Any value that JSON can hold. */ payload: unknown; payloadJson?: undefined }
    | { /** JSON text, which is kept byte for byte. */ payloadJson: string; payload?: undefined }
  )

export type PublishOutcome =
  | {
      id: string
      /** What its receivers get as `webhook-id`. */
      webhookId: string
      type: string
      createdAt: Date
      /** Nothing was stored now. */
      duplicate: boolean
    }
  | { error: { code: ErrorCode; field: string; detail: string } }

export interface PageRequest {
  /** `nextCursor` of the page before. */
  cursor?: string | undefined
  /** 1 to 200; 50 when absent. */
  limit?: number | undefined
}

/** Newest first. */
export interface Page<Item> {
  data: Item[]
  /** Null: there are no more. */
  nextCursor: string | null
}

/** `from` inclusive, `to` exclusive. */
interface TimeRange {
  from?: Date | undefined
  to?: Date | undefined
}

export interface Event {
  id: string
  /** What its receivers get as `webhook-id`: the same for every attempt and requeue, and no other event's. */
  webhookId: string
  type: string
  createdAt: Date
  correlationId: string | null
}

export interface WholeEvent extends Event {
  /** As it was published, byte for byte. */
  payloadJson: string
  /** True: it is larger than 16 MiB, which no part reads, and `payloadJson` is `null`. */
  payloadTooLarge?: boolean
  /** Newest first, at most 200. */
  deliveries: Delivery[]
  /** For `deliveries.list({ eventId })`, when there are more. */
  deliveriesNextCursor: string | null
}

export interface EventFilter extends PageRequest, TimeRange {
  type?: string | undefined
  /** The one event that was published with it. */
  idempotencyKey?: string | undefined
}

export interface NewSubscription {
  eventType: string
  callbackUrl: string
  /** Null: the instance's `retryLimit`. */
  maxAttempts?: number | null | undefined
  /** Sent with every delivery. */
  headers?: Record<string, string> | undefined
  /** How deliveries are signed: HMAC (`v1`, the default) or ed25519 (`v1a`). */
  scheme?: 'v1' | 'v1a' | undefined
}

export interface SubscriptionChange {
  eventType?: string | undefined
  /** Another one voids the verification. */
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
  /** Set: it never changes again, gets no new deliveries, and stays readable. */
  deletedAt: Date | null
  /** Why Sagapost itself switched it off (`http_410`). */
  deactivationReason: string | null
  /** How its endpoint fares; null when it is healthy. */
  breaker: Breaker | null
}

export interface Breaker {
  /** `open`: paused, but for a probe now and then. */
  state: 'failing' | 'open' | 'exhausted'
  failures: number
  failingSince: Date
  lastErrorCode: string | null
  openedAt: Date | null
  pausedUntil: Date | null
  nextProbeAt: Date | null
}

export interface CreatedSubscription extends Subscription {
  /** What the receiver verifies with. Shown this once; only a ciphertext is kept. */
  secret: string
}

export interface SubscriptionFilter extends PageRequest {
  eventType?: string | undefined
  active?: boolean | undefined
  /** Absent: deleted ones are listed among the others. */
  deleted?: boolean | undefined
  /** Whether the last attempt failed. */
  failing?: boolean | undefined
}

export interface RepeatableRequest {
  /** The same key and request again: the same answer, and nothing new. */
  idempotencyKey?: string | undefined
}

export interface Rotation extends RepeatableRequest {
  /** How long the previous secret signs along: a day unless told otherwise; 0 for one that has leaked. */
  overlapMs?: number | undefined
  scheme?: 'v1' | 'v1a' | undefined
}

export interface RotatedSecret {
  secret: string
  previousExpiresAt: Date | null
}

/** What came back from a receiver. */
export interface RequestOutcome {
  delivered: boolean
  responseStatus: number | null
  /** docs/reference/delivery-errors.md lists them. */
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
  /** The event's; null when its partition was removed. */
  webhookId: string | null
  subscriptionId: string
  status: DeliveryStatus
  attemptCount: number
  /** Null when it is final. */
  nextAttemptAt: Date | null
  /** Of the last failure; null once it is Completed. */
  finalErrorCode: string | null
  /** The dead letter that it takes up again. */
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
  /** When the lease of whoever sends it ends; null unless it is Leased. */
  leaseUntil: Date | null
  /** How often a lease on it was lost. */
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
  /** Of the last failure: those in PendingRetry and DeadLettered have one. */
  errorCode?: string | undefined
  eventType?: string | undefined
}

export interface DeadLetter {
  id: string
  deliveryId: string
  eventId: string
  /** The event's; null when its partition was removed. */
  webhookId: string | null
  subscriptionId: string
  eventType: string
  finalErrorCode: string | null
  failedAt: Date
  attemptCount: number
  /** Of the last attempt, as the next two. */
  jobId: string | null
  workerId: string | null
  leaseExpiration: Date | null
  correlationId: string | null
  /** The delivery that took it up again. */
  requeuedAs: string | null
}

export interface WholeDeadLetter extends DeadLetter {
  /** The event's payload, byte for byte. */
  payloadSnapshotJson: string
  /** True: it is larger than 16 MiB, which no part reads, and `payloadSnapshotJson` is `null`. */
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
  /** Every dead letter there is: an empty filter is refused. */
  all?: true | undefined
}

export interface StartedRequeue {
  sagaId: string
  /** How many dead letters the filter found. */
  matching: number
  /** False: an earlier request with the key started it. */
  created: boolean
}

export interface Requeued {
  deliveryId: string
  /** False: an earlier request made the delivery. */
  created: boolean
}
