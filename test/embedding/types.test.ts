import { describe, expectTypeOf, it } from 'vitest'
import type { Page, PageRequest } from '../../src/database/index.js'
import type { DeadLetter } from '../../src/delivery/dead-letters/dead-letter.js'
import type { WholeDeadLetter } from '../../src/delivery/dead-letters/get-dead-letter.js'
import type { DeadLetterFilter } from '../../src/delivery/dead-letters/list-dead-letters.js'
import type { Requeued } from '../../src/delivery/dead-letters/requeue-dead-letter.js'
import type { Breaker } from '../../src/delivery/index.js'
import type { Attempt, Delivery } from '../../src/delivery/reading/delivery.js'
import type { Event, WholeEvent } from '../../src/delivery/reading/get-event.js'
import type { DeliveryFilter } from '../../src/delivery/reading/list-deliveries.js'
import type { EventFilter } from '../../src/delivery/reading/list-events.js'
import type * as face from '../../src/index.js'
import type { SystemPart } from '../../src/runtime/index.js'
import type { Resolution } from '../../src/sagas/decide/plan-resolution.js'
import type { StartOptions } from '../../src/sagas/run/start-saga.js'
import type { CancelOutcome } from '../../src/sagas/storage/state-storage.js'
import type { SubscriptionChange } from '../../src/subscriptions/change-subscription.js'
import type { NewSubscription } from '../../src/subscriptions/create-subscription.js'
import type { Subscription } from '../../src/subscriptions/index.js'
import type { SubscriptionFilter } from '../../src/subscriptions/list-subscriptions.js'
import type { RotatedSecret } from '../../src/subscriptions/rotate-secret.js'

type Renamed<Whole, From extends keyof Whole, To extends string> = Omit<Whole, From> & Record<To, Whole[From]>

// Checked by tsc (npm run check): the public types are written by hand, so that a user's compiler meets no other.
describe('[O1] the public types describe what the operations take and return', () => {
  it('of events', () => {
    expectTypeOf<face.Event>().toEqualTypeOf<Event>()
    expectTypeOf<face.EventFilter>().branded.toEqualTypeOf<EventFilter>()
    expectTypeOf<face.WholeEvent>().branded.toEqualTypeOf<Renamed<WholeEvent, 'payload', 'payloadJson'>>()
    expectTypeOf<face.Page<string>>().toEqualTypeOf<Page<string>>()
    expectTypeOf<face.PageRequest>().toEqualTypeOf<PageRequest>()
  })
  it('of deliveries and dead letters', () => {
    expectTypeOf<face.Delivery>().toEqualTypeOf<Delivery>()
    expectTypeOf<face.Attempt>().toEqualTypeOf<Attempt>()
    expectTypeOf<face.DeliveryFilter>().branded.toEqualTypeOf<DeliveryFilter>()
    expectTypeOf<face.DeadLetter>().toEqualTypeOf<DeadLetter>()
    expectTypeOf<face.DeadLetterFilter>().branded.toEqualTypeOf<DeadLetterFilter>()
    expectTypeOf<face.WholeDeadLetter>().branded.toEqualTypeOf<
      Renamed<WholeDeadLetter, 'payloadSnapshot', 'payloadSnapshotJson'>
    >()
    expectTypeOf<face.Requeued>().toEqualTypeOf<Requeued>()
  })
  it('of subscriptions and parts', () => {
    expectTypeOf<Omit<face.Subscription, 'breaker'>>().branded.toEqualTypeOf<Subscription>()
    expectTypeOf<face.Breaker>().toEqualTypeOf<Breaker>()
    expectTypeOf<face.NewSubscription>().branded.toEqualTypeOf<NewSubscription>()
    expectTypeOf<face.SubscriptionChange>().branded.toEqualTypeOf<SubscriptionChange>()
    expectTypeOf<face.SubscriptionFilter>().branded.toEqualTypeOf<SubscriptionFilter>()
    expectTypeOf<face.RotatedSecret>().toEqualTypeOf<RotatedSecret>()
    expectTypeOf<face.Part>().toEqualTypeOf<SystemPart>()
  })
  it('of sagas', () => {
    expectTypeOf<keyof face.SagaStart>().toEqualTypeOf<keyof StartOptions>()
    expectTypeOf<face.SagaResolution>().branded.toEqualTypeOf<{
      -readonly [Key in keyof Resolution]: Resolution[Key]
    }>()
    expectTypeOf<face.SagaCancelOutcome>().toEqualTypeOf<Exclude<CancelOutcome, 'not_found'>>()
  })
})
