export { SagapostApiError, SagapostConnectionError } from './api-error.js'
export { type ClientOptions, createClient, type SagapostClient } from './create-client.js'
export type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetters,
  DeadLetterWithPayload,
  RequeueFilter,
  RequeueProgress,
  StartedRequeue,
} from './dead-letters.js'
export type {
  Attempt,
  Deliveries,
  Delivery,
  DeliveryFilter,
  DeliveryStatus,
  DeliveryWithAttempts,
} from './deliveries.js'
export type {
  Event,
  EventFilter,
  EventReceipt,
  Events,
  EventWithPayload,
  ItemError,
  Page,
  PageRequest,
  PublishBatchOptions,
  PublishOptions,
  SetAsideEvent,
} from './events.js'
export type {
  NewSignal,
  Saga,
  SagaCancel,
  SagaEvent,
  SagaFilter,
  SagaResolution,
  SagaState,
  SagaStep,
  Sagas,
  SagaWithSteps,
  SignalReceipt,
} from './sagas.js'
export type { CallOptions, Fetch } from './send-request.js'
export type {
  CreatedSubscription,
  KeyedOptions,
  NewSubscription,
  RotatedSecret,
  RotateOptions,
  Subscription,
  SubscriptionChange,
  SubscriptionFilter,
  Subscriptions,
  TestOutcome,
} from './subscriptions.js'
export type { NewEvent } from './write-event.js'
