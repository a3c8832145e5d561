import type {
  CreatedSubscription,
  DeadLetter,
  DeadLetterFilter,
  Delivery,
  DeliveryFilter,
  Event,
  EventFilter,
  EventToPublish,
  NewSubscription,
  Page,
  PublishOutcome,
  RepeatableRequest,
  RequestOutcome,
  Requeued,
  RequeueFilter,
  RotatedSecret,
  Rotation,
  StartedRequeue,
  Subscription,
  SubscriptionChange,
  SubscriptionFilter,
  VerificationOutcome,
  WholeDeadLetter,
  WholeDelivery,
  WholeEvent,
} from './types.js'

/** For an unknown subscription, every operation except `get` throws `subscription_not_found`. */
export interface SubscriptionOperations {
  /** Creates a subscription, inactive and unverified; nothing is sent. */
  create(subscription: NewSubscription, request?: RepeatableRequest): Promise<CreatedSubscription>
  get(id: string): Promise<Subscription | null>
  list(filter?: SubscriptionFilter): Promise<Page<Subscription>>
  change(id: string, change: SubscriptionChange): Promise<Subscription>
  /** Permanent and repeatable. Open deliveries end as dead letters with `subscription_deleted`. */
  delete(id: string): Promise<Subscription>
  /** Sends a challenge to the callback, and activates the subscription if the response is correct. */
  verify(id: string): Promise<VerificationOutcome>
  rotateSecret(id: string, rotation?: Rotation): Promise<RotatedSecret>
  /** Sends a signed test request; no event or delivery is created. */
  test(id: string): Promise<RequestOutcome>
}

export interface EventOperations {
  /**
   * Up to 1,000 events in a transaction of their own, with results in order. An invalid event does not affect the others.
   * When it throws, nothing was stored or the outcome is unknown; with idempotency keys, a retry is safe.
   */
  publishMany(events: readonly EventToPublish[]): Promise<PublishOutcome[]>
  /** By id or webhook id. */
  get(id: string): Promise<WholeEvent | null>
  list(filter?: EventFilter): Promise<Page<Event>>
}

export interface DeliveryOperations {
  get(id: string): Promise<WholeDelivery | null>
  list(filter?: DeliveryFilter): Promise<Page<Delivery>>
  /**
   * Stops the delivery, which ends as a dead letter with `cancelled` unless a request in flight succeeds. Repeatable.
   * Throws `delivery_not_found` or `delivery_not_cancellable`.
   */
  cancel(id: string): Promise<void>
}

export interface DeadLetterOperations {
  get(id: string): Promise<WholeDeadLetter | null>
  list(filter?: DeadLetterFilter): Promise<Page<DeadLetter>>
  /** Creates a new delivery; a repeated call returns the same one. Throws `dead_letter_not_found`, `subscription_inactive` or `subscription_deleted`. */
  requeue(id: string): Promise<Requeued>
  /**
   * Starts a saga that requeues the present matches; any process with the part `sagas` runs it. `sagas.get` shows its
   * progress, `sagas.cancel` stops it.
   */
  requeueMatching(filter: RequeueFilter, request?: RepeatableRequest): Promise<StartedRequeue>
  /** Counts the dead letters that a requeue would process. */
  countMatching(filter: RequeueFilter): Promise<number>
}
