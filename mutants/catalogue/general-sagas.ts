import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { rights, testsOf } from './named-tests.js'

const cleanup = testsOf('test/schema/general-sagas/cleanup.test.ts')
const views = testsOf('test/schema/general-sagas/views.test.ts')
const storage = testsOf('test/sagas/storage/storage-conformance.test.ts')
const coordinator = testsOf('test/sagas/run/coordinator.test.ts')

/** The schema and the coordinator of general sagas. What their rows keep is in saga-records.ts. */
export const generalSagas: readonly Mutant[] = [
  {
    id: 'two-steps-in-one-place',
    rules: ['G2'],
    breaks: 'A saga may have two steps in one place.',
    edits: [
      {
        file: schema.sagas,
        find: 'CREATE UNIQUE INDEX idx_step_unique_saga_index',
        replace: 'CREATE INDEX idx_step_unique_saga_index',
      },
    ],
    test: testsOf('test/schema/general-sagas/indexes.test.ts')(
      '[G2] of these, the primary keys, one step per place and one saga per key are unique',
    ),
  },
  {
    id: 'named-index-missing',
    rules: ['G4'],
    breaks: 'A named index is dropped.',
    edits: [{ file: schema.sagas, append: 'DROP INDEX sagapost.idx_event_type_timestamp;' }],
    test: testsOf('test/schema/general-sagas/indexes.test.ts')(
      '[G4] %s has every named index, those of the coordinator, and no other',
    ),
  },
  {
    id: 'end-without-entry',
    rules: ['G6'],
    breaks: 'A saga that completes writes no entry into its history.',
    edits: [
      {
        file: 'src/sagas/decide/join-changes.ts',
        find: 'second.state === saga.state ? []',
        replace: "second.state === saga.state || second.state === 'Completed' ? []",
      },
    ],
    test: coordinator('[G14, G6] runs the steps in order, once each, and completes'),
  },
  {
    id: 'cancelled-are-not-failed',
    rules: ['G7'],
    breaks: 'The view failed_sagas leaves out those that were cancelled.',
    edits: [
      {
        file: schema.sagas,
        find: 'WHERE state IN (6, 7, 8)\nORDER BY',
        replace: 'WHERE state IN (6, 8)\nORDER BY',
      },
    ],
    test: views('[G7] failed_sagas shows states 6, 7 and 8, the last updated first'),
  },
  {
    id: 'cleanup-takes-the-moment',
    rules: ['G8'],
    breaks: 'The clean-up removes sagas that were updated at the very moment.',
    edits: [
      {
        file: schema.sagas,
        find: 'updated_at < older_than AND NOT awaiting_operator',
        replace: 'updated_at <= older_than AND NOT awaiting_operator',
      },
    ],
    test: cleanup('[G8] keeps a saga updated exactly at the limit, and removes it a microsecond later'),
  },
  {
    id: 'cleanup-takes-stuck-sagas',
    rules: ['G8'],
    breaks: 'The clean-up removes sagas that wait for an operator.',
    edits: [
      {
        file: schema.sagas,
        find: 'updated_at < older_than AND NOT awaiting_operator',
        replace: 'updated_at < older_than',
      },
    ],
    test: cleanup('[G8] keeps a Failed saga that awaits an operator until it is resolved'),
  },
  {
    id: 'updated-at-as-given',
    rules: ['G9'],
    breaks: 'An update may set updated_at to whatever it likes.',
    edits: [
      {
        file: schema.sagas,
        find: 'IF NOT (NEW.updated_at > sagapost.now() AND NEW.updated_at <= sagapost.clock()) THEN',
        replace: 'IF NEW.updated_at IS NULL THEN',
      },
    ],
    test: testsOf('test/schema/general-sagas/updated-at.test.ts')(
      '[G9] sets updated_at to the time of the transaction, whatever the update says',
    ),
  },
  {
    id: 'retry-index-of-all-failed',
    rules: ['G10', 'G4'],
    breaks: 'The index of the steps to retry is no longer the one that finds them.',
    edits: [
      {
        file: schema.sagas,
        find: '  WHERE state = 3 AND attempts < max_attempts;',
        replace: '  WHERE state = 3 AND attempts > max_attempts;',
      },
    ],
    test: testsOf('test/schema/general-sagas/proportions.slow.test.ts')(
      '[G10] each of the six patterns uses the index that is named for it',
    ),
  },
  {
    id: 'edited-migration-accepted',
    rules: ['G11'],
    breaks: 'A migration that was edited after it had been applied is taken as it is.',
    edits: [
      {
        file: 'src/database/migrate.ts',
        find: 'if (row.checksum !== migration.checksum) {',
        replace: 'if (row.name !== migration.name) {',
      },
    ],
    test: testsOf('test/schema/migrate.test.ts')(
      '[G11] refuses an applied migration that was edited and names the file; nothing is changed',
    ),
  },
  {
    id: 'application-edits-history',
    rules: ['G12', 'G3'],
    breaks: 'The role saga_app_role may change the history of sagas.',
    edits: [{ file: schema.grants, append: 'GRANT UPDATE ON sagapost.saga_events TO saga_app_role;' }],
    test: rights,
  },
  {
    id: 'saga-fence-off',
    rules: ['G13', 'G14'],
    breaks: 'A coordinator that lost its place writes over the one that has it now.',
    edits: [
      {
        file: schema.sagaWrites,
        find: 'WHERE saga.id = change.saga_id AND saga.version = change.version',
        replace: 'WHERE saga.id = change.saga_id AND saga.version >= change.version',
      },
    ],
    test: storage('accepts the same write once'),
  },
  {
    id: 'undone-first-first',
    rules: ['G14'],
    breaks: 'What was done is undone in the order in which it was done.',
    edits: [
      {
        file: 'src/sagas/decide/decide-next.ts',
        find: 'mustBeUndone(step, definition.steps[step.index])).reverse()',
        replace: 'mustBeUndone(step, definition.steps[step.index]))',
      },
    ],
    test: coordinator(
      '[G14, G6] undoes the finished steps in reverse order when a step fails for good, the failed one first',
    ),
  },
  {
    id: 'one-run-too-many',
    rules: ['G14'],
    breaks: 'A step is tried once more than its policy says.',
    edits: [
      {
        file: 'src/sagas/decide/decide-next.ts',
        find: 'step.error?.retryable !== false && step.attempts < step.maxAttempts',
        replace: 'step.error?.retryable !== false && step.attempts <= step.maxAttempts',
      },
    ],
    test: coordinator('[G14] retries by policy: %s'),
  },
  {
    id: 'outputs-in-the-clear',
    rules: ['G15'],
    breaks: 'With a key, what steps return is kept in the clear.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/write-changes.ts',
        find: "step.output && box.seal(step.output, { sagaId, column: 'output_data', stepIndex: step.index })",
        replace: 'step.output',
      },
    ],
    test: testsOf('test/sagas/storage/postgres/postgres-storage.test.ts')(
      '[G15] keeps input, outputs and result unreadable at rest, and readable with the key',
    ),
  },
  {
    id: 'scans-of-index-not-told',
    rules: ['G16'],
    breaks: 'The use of the indexes of sagas is reported as zero.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/watch-tables.ts',
        find: 'idx_scan::float8 AS scans',
        replace: '(idx_scan * 0)::float8 AS scans',
      },
    ],
    test: testsOf('test/sagas/storage/postgres/maintenance.test.ts')(
      '[G16] operators see the sizes of the tables of sagas, and how each index is used',
    ),
  },
]
