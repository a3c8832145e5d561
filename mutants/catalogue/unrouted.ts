import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const refused = testsOf('test/delivery/router/refused-events.test.ts')
const lost = testsOf('test/delivery/router/lost-events.test.ts')
const makePossible = 'src/delivery/router/make-possible.ts'

export const unroutedEvents: readonly Mutant[] = [
  {
    id: 'refused-row-taken-again',
    rules: ['R1'],
    breaks: 'A row of the routing queue that the database refuses is taken again for ever.',
    edits: [
      {
        file: 'src/delivery/router/route-events.ts',
        find: 'if (!isRefusal(error)) throw error',
        replace: `if (!isRefusal(error) || error.code !== '23505') throw error`,
      },
    ],
    test: refused('[R1] an event without a partition does not delay the events after it'),
  },
  {
    id: 'whole-batch-set-aside',
    rules: ['R1'],
    breaks: 'All events of a batch are set aside because the database refuses one of them.',
    edits: [
      {
        file: makePossible,
        find: '    const [first, second] = events\n    if (first && !second) {\n      refused.push({ ...first, error })',
        replace:
          '    const [first] = events\n    if (first) {\n      refused.push(...events.map((each) => ({ ...each, error })))',
      },
    ],
    test: refused(
      '[R1] are set aside with their reason, and every other event is routed, even from the same row',
    ),
  },
  {
    id: 'refused-event-is-gone',
    rules: ['R1'],
    breaks: 'A refused event leaves the queue, and nothing is left of it.',
    edits: [
      {
        file: makePossible,
        find: '  SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])',
        replace:
          '  SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) LIMIT 0',
      },
    ],
    test: refused(
      '[R1, R3] are routed when an operator requeues them, and refused again while the cause persists',
    ),
  },
  {
    id: 'full-disk-is-a-refusal',
    rules: ['R1'],
    breaks: 'Events are set aside because the disk is full for a moment.',
    edits: [
      {
        file: 'src/database/database-errors.ts',
        find: '/^(SP|22|23|54|P0|XX001|XX002)/',
        replace: '/^(SP|22|23|53|54|P0|XX001|XX002)/',
      },
    ],
    test: refused('[R1] %s leaves the batch in the queue, and sets nothing aside'),
  },
  {
    id: 'lost-entry-unseen',
    rules: ['R1'],
    breaks: 'An event that is neither routed nor queued breaks no invariant.',
    edits: [
      {
        file: 'src/doctor/routing-invariants.ts',
        find: `  { name: 'routed_or_queued', rules: ['R1', 'R2', 'R5'], sql: routedOrQueued },`,
        replace: `  { name: 'routed_or_queued', rules: ['R1', 'R2', 'R5'], sql: routedOrQueued.replace('($1,', '($1 + 1000000,') },`,
      },
    ],
    test: lost(
      '[R1] is found when its row was deleted from the queue, and is routed once when it is put back',
    ),
  },
  {
    id: 'own-activation-noted',
    rules: ['R5'],
    breaks:
      'An activation that is not committed yet is noted, and events from before its commit are called lost.',
    edits: [
      {
        file: schema.routing,
        find: 'IF pg_current_xact_id_if_assigned() IS NOT NULL OR NOT EXISTS (',
        replace: 'IF NOT EXISTS (',
      },
    ],
    test: lost('[R5] when the activation itself asks for the note'),
  },
  {
    id: 'route-left-open',
    rules: ['R5', 'U5'],
    breaks: 'A subscription that was off for a while is held to have been active all the time.',
    edits: [
      {
        file: schema.routing,
        find: 'DELETE FROM sagapost.subscription_routes WHERE subscription_id = OLD.id;',
        replace: 'PERFORM FROM sagapost.subscription_routes WHERE subscription_id = OLD.id;',
      },
    ],
    test: lost(
      '[R5, U5] about events from the time when a subscription was inactive, of another type, or deleted',
    ),
  },
  {
    id: 'set-aside-counts-as-delivered',
    rules: ['R1'],
    breaks: 'A saga that waits for the deliveries of an event goes on when the event was set aside.',
    edits: [
      {
        file: schema.sagaWaits,
        find: ') OR EXISTS (SELECT FROM sagapost.set_aside_events WHERE event_id = wanted) THEN',
        replace: ') THEN',
      },
    ],
    test: refused('[R1, G14] are open for a saga that waits for their deliveries'),
  },
]
