import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const schema = testsOf('test/doctor/compare-schema.test.ts')(
  '[G11] $by is named, and its statements repair it',
)
const outages = testsOf('test/outages/doctor.test.ts')
const manyPartitions = testsOf('test/doctor/many-partitions.test.ts')
const fewLocks = testsOf('test/doctor/few-locks.test.ts')
const spans = 'src/database/event-spans.ts'
const partitions = 'src/doctor/schema/read-partitions.ts'

const withoutProcess = testsOf('test/doctor/sagas-without-process.test.ts')

/** What the doctor would no longer see. */
export const doctor: readonly Mutant[] = [
  {
    id: 'schema-grants-unseen',
    rules: ['G11'],
    breaks: 'Rights that a role should not have are not named.',
    edits: [
      {
        file: 'src/doctor/schema/compare-objects.ts',
        find: `if (!wanted.has(keyOf(object)) && isWithin(object, wanted))`,
        replace: `if (object.kind !== 'grant' && !wanted.has(keyOf(object)) && isWithin(object, wanted))`,
      },
    ],
    test: schema,
  },
  {
    id: 'schema-partition-trigger-unseen',
    rules: ['G11'],
    breaks: 'A partition without its guard against TRUNCATE is not named.',
    edits: [
      {
        file: partitions,
        find: `EXCEPT SELECT own_trigger.table, partition, name, definition FROM own_trigger)`,
        replace: `EXCEPT SELECT part.table, partition, wanted.name, wanted.definition FROM part CROSS JOIN wanted)`,
      },
    ],
    test: schema,
  },
  {
    id: 'schema-cloned-trigger-unseen',
    rules: ['G11'],
    breaks: 'A guard of every row that is disabled on one partition is not named.',
    edits: [
      {
        file: partitions,
        find: `JOIN pg_trigger AS above ON above.oid = fires.tgparentid`,
        replace: `JOIN pg_trigger AS above ON above.oid = fires.oid`,
      },
    ],
    test: schema,
  },
  {
    id: 'schema-index-state-unseen',
    rules: ['G11'],
    breaks: 'An index that is invalid passes for one that queries can use.',
    edits: [
      {
        file: 'src/doctor/schema/read-objects.ts',
        find: `CASE WHEN indisvalid AND indisready AND indislive`,
        replace: `CASE WHEN indisready AND indislive`,
      },
    ],
    test: schema,
  },
  {
    id: 'schema-owner-unseen',
    rules: ['G11'],
    breaks: 'A function or table that belongs to another role than the schema is not named.',
    edits: [
      {
        file: 'src/doctor/schema/read-objects.ts',
        find: `FROM other_owner CROSS JOIN own WHERE owner <> nspowner`,
        replace: `FROM other_owner CROSS JOIN own WHERE owner <> owner`,
      },
    ],
    test: schema,
  },
  {
    id: 'schema-partition-owner-unseen',
    rules: ['G11'],
    breaks: 'A partition that belongs to another role than the schema is not named.',
    edits: [
      {
        file: partitions,
        find: `FROM part CROSS JOIN own WHERE relowner <> nspowner`,
        replace: `FROM part CROSS JOIN own WHERE relowner <> relowner`,
      },
    ],
    test: schema,
  },
  {
    id: 'doctor-lost-process-runs',
    rules: ['O6'],
    breaks: 'A process that was killed still counts as one that works on what waits.',
    edits: [
      {
        file: 'src/doctor/examine-work.ts',
        find: `.filter(({ lost }) => lost)`,
        replace: `.filter(({ lost }) => !lost)`,
      },
    ],
    test: outages('[O6] names $by: $code'),
  },
  {
    id: 'doctor-open-transaction-unseen',
    rules: ['O6'],
    breaks: 'A transaction that is idle with a snapshot is not named, however old it is.',
    edits: [
      {
        file: 'src/doctor/examine-sessions.ts',
        find: `AND coalesce(xact_start < $1::timestamptz - $2 * interval '1 second',`,
        replace: `AND coalesce(xact_start > $1::timestamptz + $2 * interval '1 second',`,
      },
    ],
    test: outages(
      '[O6] ten minutes ahead: a transaction that is idle with a snapshot, and a prepared one: snapshot_held',
    ),
  },
  {
    id: 'doctor-damaged-secret-unseen',
    rules: ['O6', 'U2'],
    breaks: 'A secret that does not open is not named; its deliveries end as dead letters.',
    edits: [
      {
        file: 'src/doctor/examine-secrets.ts',
        find: `found.readable ? [] : [found.error.message]`,
        replace: `found.readable ? [''] : []`,
      },
    ],
    test: outages('[O6] names $by: $code'),
  },
  {
    id: 'doctor-range-skipped',
    rules: ['E2', 'R2'],
    breaks: 'The invariants leave out the last event of each span.',
    edits: [
      {
        file: spans,
        find: `coalesce(to_id, 9223372036854775807)::text AS "to"`,
        replace: `coalesce(to_id - 1, 9223372036854775807)::text AS "to"`,
      },
    ],
    test: manyPartitions('[E2, R2] no range is left out, and what is wrong in each adds up'),
  },
  {
    id: 'doctor-last-span-bounded',
    rules: ['R1'],
    breaks: 'What is queued for ids beyond the last partition is not looked at.',
    edits: [
      {
        file: spans,
        find: `coalesce(to_id, 9223372036854775807)::text`,
        replace: `coalesce(to_id, (SELECT max(last.to_id) FROM sagapost.partitions AS last))::text`,
      },
    ],
    test: manyPartitions('[R1] queue entries beyond the last partition are checked too'),
  },
  {
    id: 'doctor-locks-kept',
    rules: ['O6'],
    breaks: 'The locks of each span are kept until the transaction ends.',
    edits: [
      {
        file: spans,
        find: `ROLLBACK TO SAVEPOINT span; RELEASE SAVEPOINT span`,
        replace: `RELEASE SAVEPOINT span`,
      },
    ],
    test: manyPartitions('[O6] no statement of $name leaves more locks than with few'),
  },
  {
    id: 'doctor-several-moments',
    rules: ['E2'],
    breaks: 'Each statement of the invariants sees a moment of its own.',
    edits: [
      {
        file: 'src/doctor/read-snapshot.ts',
        find: `ISOLATION LEVEL REPEATABLE READ READ ONLY`,
        replace: `ISOLATION LEVEL READ COMMITTED READ ONLY`,
      },
    ],
    test: manyPartitions('[E2] all ranges are checked in the same snapshot'),
  },
  {
    id: 'doctor-history-of-one-span',
    rules: ['G6'],
    breaks: "Only the last span's events of a saga are counted.",
    edits: [
      {
        file: 'src/doctor/published-histories.ts',
        find: `(storedById.get(id) ?? 0) + stored`,
        replace: `stored`,
      },
    ],
    test: manyPartitions('[G6] the history of a saga may lie in several ranges'),
  },
  {
    id: 'full-lock-table-unnamed',
    rules: ['O6'],
    breaks: 'A full table of locks passes for a database that is away.',
    edits: [
      {
        file: 'src/database/outage.ts',
        find: `if (state === OUT_OF_MEMORY && error.hint?.includes(LOCK_TABLE_HINT)) return 'database_locks_exhausted'`,
        replace: ``,
      },
    ],
    test: fewLocks('[O6] a statement whose locks do not fit is answered with a code and a remedy'),
  },
  {
    id: 'doctor-few-locks-unseen',
    rules: ['O6'],
    breaks: 'The indexes of partitions are not counted among the locks.',
    edits: [
      {
        file: 'src/doctor/examine-locks.ts',
        find: `LEFT JOIN pg_catalog.pg_inherits ON inhrelid = coalesce(indrelid, own.oid)`,
        replace: `LEFT JOIN pg_catalog.pg_inherits ON inhrelid = own.oid AND indrelid IS NULL`,
      },
    ],
    test: fewLocks('[O6] the doctor reports that too few locks fit, and what to set'),
  },
  {
    id: 'doctor-believes-lost-processes',
    rules: ['G14'],
    breaks: 'A process that was lost an hour ago still counts as one that runs its sagas.',
    edits: [
      {
        file: 'src/doctor/find-sagas-without-process.ts',
        find: `WHERE seen_at >= sagapost.now() - $3 * interval '1 millisecond' AND`,
        replace: 'WHERE $3::int > 0 AND',
      },
    ],
    test: withoutProcess(
      '[G14] sagas whose definition no running process has are named, cancelled ones included',
    ),
  },
  {
    id: 'doctor-looks-at-one-definition',
    rules: ['G14'],
    breaks: 'Of the definitions with open sagas only the first is looked at.',
    edits: [
      {
        file: 'src/doctor/find-sagas-without-process.ts',
        find: 'WHERE open.place < $1',
        replace: 'WHERE open.place < $1 - 999',
      },
    ],
    test: withoutProcess(
      '[G14] sagas whose definition no running process has are named, cancelled ones included',
    ),
  },
  {
    id: 'process-hides-its-sagas',
    rules: ['G14'],
    breaks: 'A process does not say which sagas it runs.',
    edits: [
      {
        file: 'src/runtime/start-parts.ts',
        find: `only.includes('sagas') ? namesOf(options.sagas?.definitions ?? []) : []`,
        replace: `only.includes('sagas') ? namesOf([]) : []`,
      },
    ],
    test: withoutProcess(
      '[G14] a process registers the sagas it runs, children included, and counts until it stops',
    ),
  },
]
