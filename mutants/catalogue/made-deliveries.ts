import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { madeDeliveries, rangeLocks, switchedOff } from './named-tests.js'

const inPartition = madeDeliveries(
  '[U5] is refused straight into a partition, one that is made later included',
)
const enabled =
  "    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER delivery_fits_subscription', partition);\n"
const dropped = "    EXECUTE format('DROP TRIGGER delivery_fits_subscription ON sagapost.%I', partition);\n"

/** The check of every delivery that is made. */
export const madeDeliveriesMutants: readonly Mutant[] = [
  {
    id: 'delivery-to-inactive-subscription',
    rules: ['U5'],
    breaks: 'A subscription that is not active gets a delivery.',
    edits: [
      {
        file: schema.deliveries,
        find: ' AND subscription.active AND subscription.verified;\n  IF fitting',
        replace: ';\n  IF fitting',
      },
    ],
    test: madeDeliveries('[U5] is refused for a subscription that is $what, for every role'),
  },
  {
    id: 'delivery-of-other-type',
    rules: ['U5', 'R2'],
    breaks: 'A subscription gets a delivery of another type of event.',
    edits: [
      {
        file: schema.deliveries,
        find: '(made.event_id, subscription.event_type) IN (\n    SELECT event.id, event.event_type FROM',
        replace: 'made.event_id IN (\n    SELECT event.id FROM',
      },
    ],
    test: madeDeliveries('[R2] is refused for a subscription of another type'),
  },
  {
    id: 'delivery-of-missing-event',
    rules: ['U5', 'R2'],
    breaks: 'An event that does not exist gets a delivery.',
    edits: [
      {
        file: schema.deliveries,
        find: 'WHERE event.event_type IS NULL OR subscription.event_type IS NULL\n',
        replace: 'WHERE subscription.event_type IS NULL\n',
      },
    ],
    test: madeDeliveries('[U5, R2] is refused for an event that does not exist'),
  },
  {
    id: 'one-fitting-delivery-is-enough',
    rules: ['U5', 'R2'],
    breaks: 'One delivery that fits lets through all others of its statement.',
    edits: [
      { file: schema.deliveries, find: 'IF fitting = deliveries THEN', replace: 'IF fitting > 0 THEN' },
    ],
    test: madeDeliveries('[U5, R2] is refused with the whole statement that makes it'),
  },
  {
    id: 'requeue-only-for-the-same-type',
    rules: ['D4'],
    breaks: 'A dead letter cannot be requeued once its subscription asks for another type.',
    edits: [
      { file: schema.deliveries, find: ' AND made.requeued_from IS NULL) LIMIT 1', replace: ') LIMIT 1' },
    ],
    test: madeDeliveries('[D4] is sent to the subscription of its dead letter, whatever its type is by now'),
  },
  {
    id: 'delivery-in-later-partition-unchecked',
    rules: ['U5'],
    breaks: 'Deliveries that are inserted straight into a partition made later are not checked.',
    edits: [{ file: schema.partitions, find: `${enabled}  ELSIF`, replace: `${dropped}  ELSIF` }],
    test: inPartition,
  },
  {
    id: 'delivery-in-first-partitions-unchecked',
    rules: ['U5'],
    breaks: 'Deliveries that are inserted straight into one of the first partitions are not checked.',
    edits: [
      {
        file: schema.partitions,
        append: 'DROP TRIGGER delivery_fits_subscription ON sagapost.webhook_delivery_sagas_from_0;',
      },
    ],
    test: inPartition,
  },
  {
    id: 'made-deliveries-read-all-partitions',
    rules: ['S21'],
    breaks: 'The check of deliveries looks for their events in every partition.',
    edits: [
      {
        file: schema.deliveries,
        find: ' AND event.id >= first_id AND event.id <= last_id)) INTO',
        replace: ')) INTO',
      },
    ],
    test: madeDeliveries('[S21] reads the partitions of their events, and no other'),
  },
  {
    id: 'made-deliveries-lock-all-partitions',
    rules: ['S21'],
    breaks: 'Routing locks every partition of the events, however many there are.',
    edits: [{ file: schema.deliveries, find: 'OFFSET 24', replace: 'OFFSET 2400' }],
    test: rangeLocks('[S21, J9] no statement of a part locks more partitions when there are more of them'),
  },
  {
    id: 'made-deliveries-in-later-snapshot',
    rules: ['U5', 'R1'],
    breaks: 'Deliveries are refused for a switch that commits while they are being inserted.',
    edits: [
      {
        file: schema.deliveries,
        find: 'LANGUAGE plpgsql STABLE SECURITY DEFINER',
        replace: 'LANGUAGE plpgsql SECURITY DEFINER',
      },
    ],
    test: switchedOff('[U5, R1] causes no refusal when it changes while its delivery is being inserted'),
  },
  {
    id: 'event-set-aside-for-a-switch',
    rules: ['R1', 'U5'],
    breaks: 'An event is set aside because a subscription was switched off while it was routed.',
    edits: [
      {
        file: 'src/delivery/router/make-possible.ts',
        find: '\n      AND subscription.active AND subscription.verified)',
        replace: ')',
      },
    ],
    test: switchedOff(
      '[U5, R1] sets no event aside, though one is deactivated in each of the router’s tries',
    ),
  },
]
