import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, rights, tables, testsOf } from './named-tests.js'

const requeueTests = testsOf('test/schema/requeue.test.ts')

/** Dead letters and their requeue. */
export const deadLetters: readonly Mutant[] = [
  {
    id: 'dead-letters-without-event-index',
    rules: ['D1'],
    breaks: 'There is no idx_dead_event.',
    edits: [
      {
        file: schema.deadLetters,
        find: 'CREATE INDEX idx_dead_event ON sagapost.dead_letters (event_id);\n',
        replace: '',
      },
    ],
    test: tables,
  },
  {
    id: 'snapshot-written-anew',
    rules: ['D2'],
    breaks: 'The snapshot is the payload without its white space, not its bytes.',
    edits: [
      {
        file: schema.deadLetters,
        find: 'NEW.final_error_code, event.payload,',
        replace: `NEW.final_error_code, regexp_replace(event.payload::text, '\\s+', ' ', 'g')::json,`,
      },
    ],
    test: guards(
      '[D2, D3, S8, J11] are written by the move itself, with the payload byte for byte and the last job',
    ),
  },
  {
    id: 'snapshot-can-be-changed',
    rules: ['D2'],
    breaks: 'Dead letters cannot be deleted, but can be changed.',
    edits: [
      {
        file: schema.deadLetters,
        find: 'BEFORE UPDATE OR DELETE ON sagapost.dead_letters',
        replace: 'BEFORE DELETE ON sagapost.dead_letters',
      },
    ],
    test: guards('[E2, D2] UPDATE of every column of %s'),
  },
  {
    id: 'dead-without-letter',
    rules: ['D3'],
    breaks: 'A delivery whose event is not there is dead-lettered without a dead letter.',
    edits: [
      {
        file: schema.deadLetters,
        find: `  WHERE event.id = NEW.event_id;
  IF NOT FOUND THEN`,
        replace: `  WHERE event.id = NEW.event_id;
  IF NOT FOUND AND NEW.event_id IS NULL THEN`,
      },
    ],
    test: guards('[D3] a delivery whose event is missing cannot be dead-lettered'),
  },
  {
    id: 'two-letters-of-one-saga',
    rules: ['D3'],
    breaks: 'A delivery may have two dead letters.',
    edits: [
      {
        file: schema.deadLetters,
        find: 'CREATE UNIQUE INDEX uniq_dead_saga',
        replace: 'CREATE INDEX uniq_dead_saga',
      },
    ],
    test: guards('[D3] are refused for a delivery that is not dead, and a second time for one that is'),
  },
  {
    id: 'letter-of-a-living-saga',
    rules: ['D3'],
    breaks: 'A dead letter is taken for a delivery that still waits for its retry.',
    edits: [
      {
        file: schema.deadLetters,
        find: `      AND status = 'DeadLettered'\n  ) THEN`,
        replace: `      AND status IN ('PendingRetry', 'DeadLettered')\n  ) THEN`,
      },
    ],
    test: guards('[D3] are refused for a delivery that is not dead, and a second time for one that is'),
  },
  {
    id: 'requeue-for-the-inactive',
    rules: ['D4', 'U5'],
    breaks: 'A dead letter is requeued though its subscription was switched off.',
    edits: [
      {
        file: schema.builtInSagas,
        find: 'WHERE id = letter.subscription_id AND active AND verified FOR SHARE;',
        replace: 'WHERE id = letter.subscription_id AND verified FOR SHARE;',
      },
    ],
    test: requeueTests('[D4] is refused while the subscription is inactive, and nothing is made'),
  },
  {
    id: 'requeue-races-a-switch-off',
    rules: ['D4'],
    breaks: 'A requeue does not wait for a switch-off of its subscription that is under way.',
    edits: [
      {
        file: schema.builtInSagas,
        find: 'WHERE id = letter.subscription_id AND active AND verified FOR SHARE;',
        replace: 'WHERE id = letter.subscription_id AND active AND verified;',
      },
    ],
    test: requeueTests('[D4] waits for a deactivation that is under way, and is then refused'),
  },
  {
    id: 'requeue-meets-another',
    rules: ['D4', 'S19'],
    breaks:
      'A requeue that meets another one of the same letter fails, instead of answering with its delivery.',
    edits: [
      {
        file: schema.builtInSagas,
        find: '  ON CONFLICT DO NOTHING\n  RETURNING id',
        replace: '  RETURNING id',
      },
    ],
    test: requeueTests(
      '[D4] a request that meets an uncommitted one waits for it and answers with its delivery',
    ),
  },
  {
    id: 'requeue-overtaken-fails',
    rules: ['D4', 'O7'],
    breaks:
      'A requeue that another overtakes meets it in an index that ON CONFLICT does not name, and fails.',
    edits: [
      {
        file: schema.builtInSagas,
        find: '  ON CONFLICT DO NOTHING\n  RETURNING id',
        replace:
          '  ON CONFLICT (requeued_from, event_id) WHERE requeued_from IS NOT NULL DO NOTHING\n  RETURNING id',
      },
    ],
    test: requeueTests(
      '[D4, O7] a request that another overtakes between its lookup and its insert answers with the delivery of the other',
    ),
  },
  {
    id: 'requeue-with-a-taken-id-finds-no-rows',
    rules: ['D4', 'S19'],
    breaks:
      'A requeue whose delivery gets an id that is taken answers with no delivery, instead of an error.',
    edits: [
      {
        file: schema.builtInSagas,
        find: `    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'unique_violation',`,
        replace: `    IF false THEN
      RAISE EXCEPTION USING ERRCODE = 'unique_violation',`,
      },
    ],
    test: requeueTests('[D4, S19] a requeue fails with a unique violation'),
  },
  {
    id: 'batch-with-a-taken-id-is-refused',
    rules: ['D4', 'S19'],
    breaks: 'A letter whose delivery gets an id that is taken counts as refused by an inactive subscription.',
    edits: [
      {
        file: schema.builtInSagas,
        find: `  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation',`,
        replace: `  IF false THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation',`,
      },
    ],
    test: requeueTests('[D4, S19] a batch fails with the same error, and counts no letter as refused'),
  },
  {
    id: 'requeue-forgets-its-letter',
    rules: ['S19', 'D4'],
    breaks: 'A requeued delivery does not say which dead letter it takes up, as if it were routed again.',
    edits: [
      {
        file: schema.builtInSagas,
        find: '  VALUES (letter.event_id, letter.subscription_id, letter.id, letter.correlation_id)',
        replace: '  VALUES (letter.event_id, letter.subscription_id, NULL, letter.correlation_id)',
      },
    ],
    test: requeueTests(
      '[D4, S19] makes a new Pending delivery that is due now, and no job, and leaves the dead one unchanged',
    ),
  },
  {
    id: 'operator-may-change-sagas',
    rules: ['D5'],
    breaks: 'The operator’s role may set a dead delivery back itself.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT ON sagapost.dead_letters TO dead_letter_operator;',
        replace: `GRANT SELECT ON sagapost.dead_letters TO dead_letter_operator;
GRANT UPDATE (status, attempt_count) ON sagapost.webhook_delivery_sagas TO dead_letter_operator;`,
      },
    ],
    test: rights,
  },
  {
    id: 'requeue-for-everybody',
    rules: ['D5'],
    breaks: 'The router may call the requeue function.',
    edits: [
      {
        file: schema.grants,
        append: 'GRANT EXECUTE ON FUNCTION sagapost.requeue_dead_letter(bigint) TO router_worker;',
      },
    ],
    test: testsOf('test/schema/permissions.test.ts')(
      '[S8, D5, U4] each role may call exactly the functions that are listed for it',
    ),
  },
]
