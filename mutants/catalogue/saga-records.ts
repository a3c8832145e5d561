import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const columns = testsOf('test/sagas/storage/columns.test.ts')(
  '[G1, G2, G3] every column of the tables of sagas is written by sagas that run',
)
const shapes = testsOf('test/sagas/storage/stored-shapes.test.ts')
const members = shapes('[G5] has every member of its shape, null where there is nothing')
const thrown = shapes('[G5] keeps of a thrown error its details, its causes, its stacks and its time')
const spans = shapes('[G17] has a span of its own for each attempt at a step, and for each undo')
const runTimes = shapes('[G2] records when the first and the last run of a step began')
const sealed = shapes(
  '[G15] stacks, details and causes are unreadable at rest, and what steps were given and returned',
)
const told = shapes(
  '[G1, G2, G3] records what a saga is about, what its steps were given and returned, and which coordinator ran it',
)

/** What the tables of general sagas keep of a run. */
export const sagaRecords: readonly Mutant[] = [
  {
    id: 'column-without-writer',
    rules: ['G1', 'G2', 'G3'],
    breaks: 'A column is added that no run of a saga fills.',
    edits: [{ file: schema.sagas, append: 'ALTER TABLE sagapost.saga_steps ADD COLUMN worker text;' }],
    test: columns,
  },
  {
    id: 'current-data-not-kept',
    rules: ['G1'],
    breaks: 'What the steps have returned is not kept with the saga.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'current_data = coalesce(change.current::jsonb, saga.current_data)',
        replace: 'current_data = saga.current_data',
      },
    ],
    test: columns,
  },
  {
    id: 'step-input-not-kept',
    rules: ['G2'],
    breaks: 'What a step is given is kept for the first one only.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'coalesce(to_be.input::jsonb, step.input_data)',
        replace: 'step.input_data',
      },
    ],
    test: told,
  },
  {
    id: 'first-input-not-kept',
    rules: ['G2'],
    breaks: 'What the first step is given is not kept where it begins with its saga.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'CASE begun.runs WHEN 1 THEN new.first_input::jsonb END',
        replace: 'NULL',
      },
    ],
    test: told,
  },
  {
    id: 'description-lost',
    rules: ['G1'],
    breaks: 'The description of a saga is taken and not stored.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/start-saga.ts',
        find: '    description: saga.description,\n',
        replace: '',
      },
    ],
    test: columns,
  },
  {
    id: 'coordinator-not-named',
    rules: ['G3'],
    breaks: 'The history does not say which coordinator took a saga over.',
    edits: [
      {
        file: 'src/sagas/decide/annotate-change.ts',
        find: 'isFirst && first && {',
        replace: 'first && !isFirst && {',
      },
    ],
    test: told,
  },
  {
    id: 'last-attempt-is-first',
    rules: ['G2'],
    breaks: 'The time of the last attempt is that of the first.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'last_attempt_at = CASE WHEN to_be.started THEN at_once ELSE step.last_attempt_at END',
        replace: 'last_attempt_at = CASE WHEN to_be.started THEN coalesce(step.last_attempt_at, at_once) END',
      },
    ],
    test: runTimes,
  },
  {
    id: 'saga-without-events',
    rules: ['G3'],
    breaks: 'A saga’s events stay when it is deleted, and keep it from going.',
    edits: [
      {
        file: schema.sagas,
        append: `
ALTER TABLE sagapost.saga_events DROP CONSTRAINT fk_saga_events_saga;
ALTER TABLE sagapost.saga_events ADD CONSTRAINT fk_saga_events_saga
  FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id);`,
      },
    ],
    test: testsOf('test/schema/general-sagas/audit-trail.test.ts')(
      '[G3] removes the events of a saga when the saga is deleted',
    ),
  },
  {
    id: 'details-lost',
    rules: ['G5'],
    breaks: 'The details of an error are not kept.',
    edits: [
      { file: 'src/sagas/saga-error.ts', find: 'details: detailsOf(thrown)', replace: 'details: null' },
    ],
    test: thrown,
  },
  {
    id: 'stack-lost',
    rules: ['G5'],
    breaks: 'The stack of an error is not kept.',
    edits: [
      { file: 'src/sagas/saga-error.ts', find: 'stack_trace: stack || null', replace: 'stack_trace: null' },
    ],
    test: thrown,
  },
  {
    id: 'cause-lost',
    rules: ['G5'],
    breaks: 'The causes of an error are not kept.',
    edits: [
      {
        file: 'src/sagas/saga-error.ts',
        find: "causesLeft > 0 ? (property(thrown, 'cause') ?? null) : null",
        replace: "causesLeft < 0 ? (property(thrown, 'cause') ?? null) : null",
      },
    ],
    test: thrown,
  },
  {
    id: 'error-time-is-epoch',
    rules: ['G5'],
    breaks: 'The time of an error is not that of the error.',
    edits: [
      {
        file: 'src/sagas/saga-error.ts',
        find: '{ retryable, timestamp: new Date().toISOString() }',
        replace: '{ retryable, timestamp: new Date(0).toISOString() }',
      },
    ],
    test: thrown,
  },
  {
    id: 'stacks-without-bound',
    rules: ['G5'],
    breaks: 'Each cause of an error may have as long a stack as the error itself.',
    edits: [
      { file: 'src/sagas/saga-error.ts', find: 'stackCharsLeft - stack.length', replace: 'stackCharsLeft' },
    ],
    test: testsOf('test/sagas/saga-error.test.ts')(
      '[G5] keeps eight causes, and no more of all their stacks than of one',
    ),
  },
  {
    id: 'undo-without-end',
    rules: ['G5'],
    breaks: 'The state of an undo lacks the time of its end while it has none.',
    edits: [{ file: 'src/sagas/decide/plan-undos.ts', find: '      completed_at: null,\n', replace: '' }],
    test: members,
  },
  {
    id: 'policy-without-retry-on',
    rules: ['G5'],
    breaks: 'A retry policy that retries everything lacks a member.',
    edits: [{ file: 'src/sagas/retry-policy.ts', find: '  retry_on: null,\n', replace: '' }],
    test: members,
  },
  {
    id: 'spans-of-saga',
    rules: ['G17'],
    breaks: 'All events of a saga have the span of the saga.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'coalesce(event.span_id, moved.span_id)',
        replace: 'moved.span_id',
      },
    ],
    test: spans,
  },
  {
    id: 'one-span-for-all-runs',
    rules: ['G17'],
    breaks: 'The end of a run has the span of its saga.',
    edits: [
      {
        file: 'src/sagas/decide/plan-runs.ts',
        find: "  const failed = stepStateNumber('Failed')\n  const span = spanId === undefined ? {} : { spanId }",
        replace: "  const failed = stepStateNumber('Failed')\n  const span = spanId === '' ? { spanId } : {}",
      },
    ],
    test: spans,
  },
  {
    id: 'stacks-in-the-clear',
    rules: ['G15'],
    breaks: 'With a key, the stacks and causes of errors are kept in the clear in the history.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/write-changes.ts',
        find: 'error: sealError(event.error, sagaId, box)',
        replace: 'error: event.error',
      },
    ],
    test: sealed,
  },
  {
    id: 'current-data-in-the-clear',
    rules: ['G15'],
    breaks: 'With a key, what the steps have returned is kept with the saga in the clear.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/write-changes.ts',
        find: "change.current && box.seal(change.current, { sagaId, column: 'current_data' })",
        replace: 'change.current',
      },
    ],
    test: sealed,
  },
  {
    id: 'history-tells-messages',
    rules: ['G6', 'G15'],
    breaks: 'The webhooks of a saga tell the message of its error.',
    edits: [
      {
        file: schema.sagaWrites,
        find: `event.error ->> 'code' AS "errorCode"`,
        replace: `event.error ->> 'message' AS "errorCode"`,
      },
    ],
    test: shapes('[G5] gives receivers of a failure only its code'),
  },
  {
    id: 'memory-at-many-moments',
    rules: ['G13'],
    breaks: 'In memory, the entries of one write have times of their own.',
    edits: [
      {
        file: 'src/sagas/storage/memory/memory-storage.ts',
        find: 'timestamp: moment,',
        replace: 'timestamp: now(moment.getTime() * 0),',
      },
    ],
    test: testsOf('test/sagas/run/constructs.test.ts')(
      '[G13] everything that one write in memory stores has one time, though the clock moves meanwhile',
    ),
  },
  {
    id: 'memory-forgets-metadata',
    rules: ['G13'],
    breaks: 'In memory, events have no metadata.',
    edits: [
      {
        file: 'src/sagas/storage/memory/memory-storage.ts',
        find: 'metadata: event.metadata ?? null',
        replace: 'metadata: null',
      },
    ],
    test: shapes('[G13] is the same in memory as in PostgreSQL'),
  },
]
