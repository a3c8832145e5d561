import type { components } from '../../../src/client/api-types.js'

type Schemas = components['schemas']

export type SagapostEvent = Schemas['Event']
export type EventWithPayload = Schemas['EventWithPayload']
export type Delivery = Schemas['Delivery']
export type DeliveryWithAttempts = Schemas['DeliveryWithAttempts']
export type Attempt = Schemas['Attempt']
export type Subscription = Schemas['Subscription']
export type CreatedSubscription = Schemas['CreatedSubscription']
export type RotatedSecret = Schemas['RotatedSecret']
export type TestOutcome = Schemas['TestOutcome']
export type DeadLetter = Schemas['DeadLetter']
export type DeadLetterWithPayload = Schemas['DeadLetterWithPayload']
export type Saga = Schemas['Saga']
export type SagaWithSteps = Schemas['SagaWithSteps']
export type SagaStep = Schemas['SagaStep']
export type SystemDescription = Schemas['System']
export type StatisticsPoint = Schemas['StatisticsPoint']
export type EndpointHealth = Schemas['EndpointHealth']

export interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

/** The permissions of a session, named as in the server's table. */
export type Right =
  | 'read'
  | 'readSubscriptions'
  | 'changeSubscriptions'
  | 'trySubscriptions'
  | 'requeue'
  | 'cancelDeliveries'
  | 'settleSagas'

export interface Session {
  scope: string
  may: string[]
}

export type { Snapshot } from '../../../src/observability/index.js'
export type { Attention } from '../../../src/observability/live/list-attention.js'
