import type pg from 'pg'
import { SagapostError } from '../../../errors/index.js'

type Queryable = Pick<pg.ClientBase, 'query'>

const statements = {
  /** Frees dead rows, refreshes the planner's statistics, and summarises new ranges of BRIN indexes. */
  vacuum: {
    saga_instances: 'VACUUM (ANALYZE) sagapost.saga_instances',
    saga_steps: 'VACUUM (ANALYZE) sagapost.saga_steps',
    saga_events: 'VACUUM (ANALYZE) sagapost.saga_events',
  },
  /** Rebuilds the indexes of tables that are updated often, without blocking writes. */
  reindex: {
    saga_instances: 'REINDEX TABLE CONCURRENTLY sagapost.saga_instances',
    saga_steps: 'REINDEX TABLE CONCURRENTLY sagapost.saga_steps',
  },
} as const

export type SagaMaintenance = keyof typeof statements

/** Of another's table, VACUUM says no more than a warning. PostgreSQL 17 knows a right of its own for it. */
const selectRight = `
  SELECT bool_and(pg_has_role(relowner, 'USAGE')
    OR CASE WHEN current_setting('server_version_num')::int >= 170000
            THEN has_table_privilege(oid, 'MAINTAIN') ELSE false END) AS allowed
  FROM pg_class
  WHERE oid = ANY ('{sagapost.saga_instances, sagapost.saga_steps, sagapost.saga_events}'::regclass[])`

/**
 * [G16] Runs one task on table after table, and reports each. The connection is the owner's: a function cannot run
 * either statement on behalf of another role, since both commit by themselves.
 */
export async function maintainSagaTables(
  client: Queryable,
  task: SagaMaintenance,
  onDone: (table: string) => void = () => {},
): Promise<void> {
  const { rows } = await client.query<{ allowed: boolean }>(selectRight)
  if (!rows[0]?.allowed) {
    throw new SagapostError(
      'permission_denied',
      `Only the owner of the schema, the login that migrates it, may ${task} the tables of sagas`,
    )
  }
  for (const [table, statement] of Object.entries(statements[task])) {
    await client.query(statement)
    onDone(table)
  }
}

const ensurePartitions = 'SELECT sagapost.ensure_saga_event_partitions() AS made'

/** Those whose history is of no saga any more: `sagas cleanup` comes first. */
const dropPartitions = `
  SELECT sagapost.drop_saga_event_partitions(sagapost.now() - $1::bigint * interval '1 ms') AS dropped`

export interface PartitionMaintenance {
  readonly made: number
  readonly dropped: number
}

/** [G15] Under schema_maintainer. Does nothing unless saga_events is partitioned. */
export async function maintainSagaPartitions(
  client: Queryable,
  { dropOlderThanMs }: { readonly dropOlderThanMs?: number | undefined } = {},
): Promise<PartitionMaintenance> {
  const { rows: ensured } = await client.query<{ made: number }>(ensurePartitions)
  const made = ensured[0]?.made ?? 0
  if (dropOlderThanMs === undefined) return { made, dropped: 0 }
  const { rows } = await client.query<{ dropped: number }>(dropPartitions, [dropOlderThanMs])
  return { made, dropped: rows[0]?.dropped ?? 0 }
}
