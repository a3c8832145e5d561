import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const spread = testsOf('test/delivery/router/spread-events.test.ts')
const router = testsOf('test/delivery/router/start-router.test.ts')
const spreadFile = 'src/delivery/router/spread-events.ts'
const toEachOnce = spread('[R1, R2, R3] is routed in several transactions, to each subscription once')

/** Events that are routed in several transactions. */
export const pieces: readonly Mutant[] = [
  {
    id: 'batch-of-any-size',
    rules: ['R1'],
    breaks: 'A batch is bounded by its events only, however many subscriptions each has.',
    edits: [
      {
        file: 'src/delivery/router/cut-deliveries.ts',
        find: 'return deliveries <= deliveriesMax',
        replace: 'return deliveries > 0',
      },
    ],
    test: spread(
      '[R1] makes no more deliveries than one transaction should, and leaves the rest in the queue',
    ),
  },
  {
    id: 'large-row-in-front',
    rules: ['R1'],
    breaks: 'A row that is routed in pieces is taken with the others, whole.',
    edits: [
      {
        file: 'src/delivery/router/route-events.ts',
        find: '  WHERE id < 1::bigint << 52 ORDER BY id LIMIT (SELECT rows_max FROM size)',
        replace: '  ORDER BY id LIMIT (SELECT rows_max FROM size)',
      },
    ],
    test: spread('[R1] does not delay the events after it, of its type or another'),
  },
  {
    id: 'cut-event-is-done',
    rules: ['R1', 'R2'],
    breaks: 'The last event of a piece counts as routed, though it has subscriptions left.',
    edits: [
      {
        file: spreadFile,
        find: 'place.routedEvents + piece.length - (isBegun ? 1 : 0)',
        replace: 'place.routedEvents + piece.length',
      },
    ],
    test: toEachOnce,
  },
  {
    id: 'place-met-again',
    rules: ['R3'],
    breaks: 'Each piece begins with the last subscription of the one before.',
    edits: [
      {
        file: 'src/delivery/router/cut-deliveries.ts',
        find: 'BigInt(id) > BigInt(last)',
        replace: 'BigInt(id) >= BigInt(last)',
      },
    ],
    test: toEachOnce,
  },
  {
    id: 'list-in-any-order',
    rules: ['R5'],
    breaks: 'Pieces go to subscriptions in another order than that of the ids, by which their place is kept.',
    edits: [
      {
        file: 'src/delivery/router/subscription-cache.ts',
        find: 'AND verified ORDER BY id`',
        replace: 'AND verified ORDER BY id DESC`',
      },
    ],
    test: spread(
      '[R5, U5] get it once if they are active when its position reaches them, and not at all otherwise',
    ),
  },
  {
    id: 'place-by-itself',
    rules: ['R3'],
    breaks: 'The deliveries of a piece are committed before its place.',
    edits: [
      {
        file: spreadFile,
        find: '    const last = piece.at(-1)',
        replace: `    await client.query('COMMIT')
    await client.query('BEGIN')
    const last = piece.at(-1)`,
      },
    ],
    test: spread('[R3] keeps its position and its deliveries together: what was not committed is repeated'),
  },
  {
    id: 'refused-event-goes-on',
    rules: ['R1'],
    breaks: 'An event that was set aside in the midst is tried again with each of its other pieces.',
    edits: [
      {
        file: spreadFile,
        find: 'isLastCut && !refused.some(({ id }) => id === last?.id)',
        replace: 'isLastCut',
      },
    ],
    test: spread(
      '[R1, R3] is set aside once, delays no other event, and reaches the remaining subscriptions when it is requeued',
    ),
  },
  {
    id: 'routed-event-still-queued',
    rules: ['R1'],
    breaks: 'An event stays among the unrouted ones until its whole row is routed.',
    edits: [
      {
        file: schema.routing,
        find: '  queued.event_ids[coalesce(queued.routed_events, 0) + 1:],',
        replace: '  queued.event_ids,',
      },
    ],
    test: spread('[R1, R2] shares a row with others: each leaves the queue when its last delivery is made'),
  },
  {
    id: 'half-routed-is-completed',
    rules: ['R1'],
    breaks: 'A saga goes on when the deliveries that are made have ended, though the event has more to come.',
    edits: [
      {
        file: schema.sagaWaits,
        find: `    WHEN busy + waiting > 0 THEN 'open'`,
        replace: `    WHEN busy + waiting > 0 THEN 'open'
    WHEN total > 0 THEN 'completed'`,
      },
    ],
    test: spread(
      '[G14] is open for a saga that waits for its deliveries, though all deliveries so far have ended',
    ),
  },
  {
    id: 'large-row-of-another-router',
    rules: ['R1'],
    breaks: 'A router goes on with the large rows that it has met itself, and with no others.',
    edits: [
      {
        file: 'src/delivery/router/start-router.ts',
        find: 'hasLarge ||= large',
        replace: 'hasLarge ||= large && false',
      },
    ],
    test: router('[R1] continues an event that another router has left half-way'),
  },
]
