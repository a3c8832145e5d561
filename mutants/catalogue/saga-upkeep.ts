import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const indexes = testsOf('test/schema/general-sagas/indexes.test.ts')(
  '[G4] %s has every named index, those of the coordinator, and no other',
)
const views = testsOf('test/schema/general-sagas/views.test.ts')
const maintenance = testsOf('test/sagas/storage/postgres/maintenance.test.ts')

/** Indexes and views of general sagas, and what operators do to keep them for years. */
export const sagaUpkeep: readonly Mutant[] = [
  {
    id: 'metadata-index-is-no-gin',
    rules: ['G4'],
    breaks: 'The metadata of sagas has an index in which no member can be searched for.',
    edits: [
      {
        file: schema.sagas,
        find: 'USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL',
        replace: 'USING hash (metadata) WHERE metadata IS NOT NULL',
      },
    ],
    test: indexes,
  },
  {
    id: 'cleanup-index-without-cancelled',
    rules: ['G4'],
    breaks: 'The index of the clean-up leaves sagas out that were cancelled.',
    edits: [
      {
        file: schema.sagas,
        find: 'WHERE state IN (3, 5, 6, 7, 8);',
        replace: 'WHERE state IN (3, 5, 6, 8);',
      },
    ],
    test: indexes,
  },
  {
    id: 'compensating-are-not-active',
    rules: ['G7'],
    breaks: 'The view active_sagas leaves sagas out that are being undone.',
    edits: [
      {
        file: schema.sagas,
        find: 'WHERE state IN (1, 2, 4)\nORDER BY created_at DESC;',
        replace: 'WHERE state IN (1, 2)\nORDER BY created_at DESC;',
      },
    ],
    test: views('[G7] active_sagas shows states 1, 2 and 4, the newest first'),
  },
  {
    id: 'compensated-are-completed',
    rules: ['G7'],
    breaks: 'The view completed_sagas shows sagas that were undone.',
    edits: [
      {
        file: schema.sagas,
        find: 'WHERE state = 3\nORDER BY completed_at DESC;',
        replace: 'WHERE state IN (3, 5)\nORDER BY completed_at DESC;',
      },
    ],
    test: views('[G7] completed_sagas shows state 3, the last completed first'),
  },
  {
    id: 'durations-of-unfinished-sagas',
    rules: ['G7'],
    breaks: 'The average duration of a definition counts sagas that have not ended.',
    edits: [
      {
        file: schema.sagas,
        find: 'avg(extract(epoch FROM completed_at - started_at))',
        replace: 'avg(extract(epoch FROM coalesce(completed_at, updated_at) - started_at))',
      },
    ],
    test: views('[G7] saga_statistics counts the sagas of each definition'),
  },
  {
    id: 'invalid-index-passes',
    rules: ['G16'],
    breaks: 'An index that an interrupted rebuild has left behind passes for a good one.',
    edits: [
      {
        file: schema.sagaUpkeep,
        find: 'index.indisvalid AS is_valid',
        replace: 'index.indislive AS is_valid',
      },
    ],
    test: maintenance('[G16] the leftovers of an interrupted rebuild are shown'),
  },
  {
    id: 'vacuum-without-statistics',
    rules: ['G16'],
    breaks: 'The vacuum of the tables of sagas leaves the planner’s statistics as they are.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/maintain-tables.ts',
        find: "saga_events: 'VACUUM (ANALYZE) sagapost.saga_events'",
        replace: "saga_events: 'VACUUM sagapost.saga_events'",
      },
    ],
    test: maintenance('[G16] the owner vacuums and rebuilds indexes, and the tables show when'),
  },
  {
    id: 'slow-statements-are-the-fast-ones',
    rules: ['G16'],
    breaks: 'The slow statements that operators are shown are the fastest ones.',
    edits: [
      {
        file: schema.sagaUpkeep,
        find: 'ORDER BY mean_exec_time DESC LIMIT $1',
        replace: 'ORDER BY mean_exec_time LIMIT $1',
      },
    ],
    test: maintenance(
      '[G16] slow queries are shown where pg_stat_statements is installed, and otherwise reported as missing',
    ),
  },
  {
    id: 'history-dropped-before-its-saga',
    rules: ['G18', 'G15'],
    breaks: 'Retention drops a partition that holds the history of a saga that is still there.',
    edits: [{ file: schema.sagaUpkeep, find: 'IF NOT needed THEN', replace: 'IF NOT needed OR needed THEN' }],
    test: maintenance(
      '[G15, G16, G18] schema_maintainer creates and drops partitions, and initially there are none',
    ),
  },
  {
    id: 'restored-ids-have-no-partition',
    rules: ['G18', 'E1'],
    breaks:
      'After a restore whose ids are far ahead, partitions are made where the others end, and not at the ids.',
    edits: [
      {
        file: schema.partitions,
        find: 'SELECT greatest(next_id - next_id % width, max(to_id)) FROM sagapost.partitions',
        replace: 'SELECT coalesce(max(to_id), 0) FROM sagapost.partitions',
      },
    ],
    test: testsOf('test/schema/partitions.test.ts')(
      '[O7] after a restore whose ids are far ahead, partitions are created where the ids are',
    ),
  },
]
