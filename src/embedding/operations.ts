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

/** Where there is no such subscription, everything but `get` throws `subscription_not_found`. */
export interface SubscriptionOperations {
  /** Inactive and unverified; nothing is sent. */
  create(subscription: NewSubscription, request?: RepeatableRequest): Promise<CreatedSubscription>
  get(id: string): Promise<Subscription | null>
  list(filter?: SubscriptionFilter): Promise<Page<Subscription>>
  change(id: string, change: SubscriptionChange): Promise<Subscription>
  /** Permanent and repeatable. Open deliveries end as dead letters with `subscription_deleted`. */
  delete(id: string): Promise<Subscription>
  /** Asks the callback's owner with a challenge, and activates the subscription if they agree. */
  verify(id: string): Promise<VerificationOutcome>
  rotateSecret(id: string, rotation?: Rotation): Promise<RotatedSecret>
  /** A signed request at once; no event, no delivery. */
  test(id: string): Promise<RequestOutcome>
}

export interface EventOperations {
  /**
   * Up to 1,000 events in a transaction of their own, answered in order; one bad event does not stop the others. When
   * it throws, nothing was stored, or nobody knows: with idempotency keys, asking again is safe.
   */
  publishMany(events: readonly EventToPublish[]): Promise<PublishOutcome[]>
  /** By its id or its webhook id. */
  get(id: string): Promise<WholeEvent | null>
  list(filter?: EventFilter): Promise<Page<Event>>
}

export interface DeliveryOperations {
  get(id: string): Promise<WholeDelivery | null>
  list(filter?: DeliveryFilter): Promise<Page<Delivery>>
  /**
   * Sends nothing more of it; it ends as a dead letter with `cancelled`, unless what is on its way arrives. Asked again,
   * nothing more happens. Throws `delivery_not_found` or `delivery_not_cancellable`.
   */
  cancel(id: string): Promise<void>
}

export interface DeadLetterOperations {
  get(id: string): Promise<WholeDeadLetter | null>
  list(filter?: DeadLetterFilter): Promise<Page<DeadLetter>>
  /** A new delivery; asked again, the same one. Throws `dead_letter_not_found`, `subscription_inactive` or `subscription_deleted`. */
  requeue(id: string): Promise<Requeued>
  /**
   * Starts a saga that requeues what the filter finds at this moment; `sagas.get` shows how far it is, `sagas.cancel` ends
   * it. It is run by any process with the part `sagas`.
   */
  requeueMatching(filter: RequeueFilter, request?: RepeatableRequest): Promise<StartedRequeue>
  /** How many it would be. */
  countMatching(filter: RequeueFilter): Promise<number>
}
