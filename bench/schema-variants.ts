import { loadMigrations, migrationsFolder } from '../src/database/index.js'

export interface Variant {
  name: string
  /** Turns the migrations into the variant's schema; statements to run after them. */
  edit: (sql: string) => string
  after: string[]
  /** Whether the statements carry an upper bound; the lower one alone leaves the empty partitions ahead. */
  bounded: boolean
}

const PARTITION_WIDTH = 1_000_000

const asPlainTables = (sql: string) =>
  sql.replaceAll(/\) PARTITION BY RANGE \(\w+\)/g, ')').replace('SELECT sagapost.ensure_partitions();', '')

/** `ahead` empty partitions behind the hot one, `behind` empty ones before it. */
function partitioned(name: string, behind: number, ahead: number, bounded: boolean): Variant {
  return {
    name,
    bounded,
    edit: (sql) => sql.replace('SELECT sagapost.ensure_partitions();', ''),
    after: [
      ...Array.from({ length: behind + 1 + ahead }, (_, index) =>
        ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters'].map(
          (table) =>
            `SELECT sagapost.make_partition('${table}', ${index * PARTITION_WIDTH}, ${(index + 1) * PARTITION_WIDTH})`,
        ),
      ).flat(),
      `SELECT setval('sagapost.events_id_seq', ${behind * PARTITION_WIDTH + 1})`,
    ],
  }
}

/** Statement triggers of a partition fire for what is inserted straight into it alone. */
function without(variant: Variant, trigger: string, table: string): Variant {
  const dropped = `DROP TRIGGER ${trigger} ON sagapost.${table}`
  return { ...variant, name: `${variant.name}, no ${trigger}`, after: [...variant.after, dropped] }
}

/** As the partitions have it (migrations/0008). */
const fillfactor = withFillfactor(50)

function withFillfactor(percent: number): string[] {
  return ['webhook_delivery_sagas', 'webhook_delivery_jobs'].map(
    (table) => `ALTER TABLE sagapost.${table} SET (fillfactor = ${percent})`,
  )
}

const fullIndexes = [
  ['idx_saga_status', 'webhook_delivery_sagas (status)'],
  ['idx_saga_status_retry', 'webhook_delivery_sagas (status, next_attempt_at)'],
  ['idx_job_status_lease', 'webhook_delivery_jobs (status, lease_until)'],
  ['idx_job_saga', 'webhook_delivery_jobs (saga_id)'],
].flatMap(([name, on]) => [`DROP INDEX sagapost.${name}`, `CREATE INDEX ${name} ON sagapost.${on}`])

const dropGuards = `
  DO $$
  DECLARE guard record;
  BEGIN
    FOR guard IN SELECT tgname, tgrelid::regclass AS table FROM pg_trigger
      WHERE tgfoid = 'sagapost.refuse'::regproc AND NOT tgisinternal
    LOOP EXECUTE format('DROP TRIGGER %I ON %s', guard.tgname, guard.table); END LOOP;
  END $$`

export const variants: Variant[] = [
  { name: 'plain tables', edit: asPlainTables, after: fillfactor, bounded: true },
  partitioned('3 partitions', 0, 2, true),
  without(partitioned('3 partitions', 0, 2, true), 'delivery_fits_subscription', 'webhook_delivery_sagas'),
  partitioned('12 partitions', 9, 2, true),
  partitioned('50 partitions', 47, 2, true),
  partitioned('301 partitions', 298, 2, true),
  without(
    partitioned('301 partitions', 298, 2, true),
    'delivery_fits_subscription',
    'webhook_delivery_sagas',
  ),
  partitioned('50 partitions, no bounds', 47, 2, false),
  {
    name: 'plain, full status indexes',
    edit: asPlainTables,
    after: [...fillfactor, ...fullIndexes],
    bounded: true,
  },
  { name: 'plain, no guards', edit: asPlainTables, after: [...fillfactor, dropGuards], bounded: true },
  {
    name: 'plain, full idx_saga_event',
    edit: asPlainTables,
    after: [
      ...fillfactor,
      'DROP INDEX sagapost.idx_saga_event',
      'CREATE INDEX idx_saga_event ON sagapost.webhook_delivery_sagas (event_id, subscription_id)',
    ],
    bounded: true,
  },
  {
    name: 'plain, idx_saga_subscription of all',
    edit: asPlainTables,
    after: [
      ...fillfactor,
      'DROP INDEX sagapost.idx_saga_subscription',
      'CREATE INDEX idx_saga_subscription ON sagapost.webhook_delivery_sagas (subscription_id, id)',
    ],
    bounded: true,
  },
  {
    name: 'plain, no idx_saga_subscription',
    edit: asPlainTables,
    after: [...fillfactor, 'DROP INDEX sagapost.idx_saga_subscription'],
    bounded: true,
  },
  {
    name: 'plain, the rules’ indexes alone',
    edit: asPlainTables,
    after: [
      ...fillfactor,
      ...[
        'idx_saga_subscription',
        'idx_saga_failing',
        'idx_saga_failing_subscription',
        'idx_saga_failing_error',
        'idx_saga_failing_subscription_error',
        'idx_job_gone',
      ].map((name) => `DROP INDEX sagapost.${name}`),
    ],
    bounded: true,
  },
  {
    name: 'plain, no indexes of errors',
    edit: asPlainTables,
    after: [
      ...fillfactor,
      'DROP INDEX sagapost.idx_saga_failing_error, sagapost.idx_saga_failing_subscription_error',
    ],
    bounded: true,
  },
  {
    name: 'plain, one index of errors',
    edit: asPlainTables,
    after: [...fillfactor, 'DROP INDEX sagapost.idx_saga_failing_subscription_error'],
    bounded: true,
  },
  {
    name: 'plain, InProgress indexed',
    edit: asPlainTables,
    after: [
      ...fillfactor,
      `CREATE INDEX idx_in_progress ON sagapost.webhook_delivery_sagas (status, id) WHERE status = 'InProgress'`,
    ],
    bounded: true,
  },
  { name: 'plain, fillfactor 80', edit: asPlainTables, after: withFillfactor(80), bounded: true },
  { name: 'plain, fillfactor 100', edit: asPlainTables, after: withFillfactor(100), bounded: true },
]

export async function variantStatements({ edit, after }: Variant): Promise<string[]> {
  const migrations = await loadMigrations(migrationsFolder)
  return [
    `CREATE SCHEMA sagapost`,
    `CREATE TABLE sagapost.saga_schema_version (version integer)`,
    ...migrations.map(({ sql }) => edit(sql)),
    ...after,
  ]
}
