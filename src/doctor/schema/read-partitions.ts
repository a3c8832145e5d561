import type pg from 'pg'

/** A partition, as far as its structure can differ from its parent's. */
export interface PartitionFault {
  table: string
  partition: string
  kind:
    | 'trigger_missing'
    | 'trigger_state'
    | 'trigger_extra'
    | 'index_missing'
    | 'index_extra'
    | 'default'
    | 'unlogged'
    | 'row_security'
    | 'detach_pending'
    | 'grant'
    | 'other_owner'
  name: string
  detail: string
}

/** A trigger of a partition's own: ATTACH clones those for rows alone. `%s` stands for the partition. */
export interface PartitionTrigger {
  table: string
  name: string
  definition: string
  state: string
}

// All partitions in sets, from the catalogue: no partition is opened or locked, however many there are.
const partitions = `
  own AS MATERIALIZED (SELECT oid, nspowner FROM pg_namespace WHERE nspname = 'sagapost'),
  part AS MATERIALIZED (
    SELECT parent.oid AS parent_oid, quote_ident(parent.relname) AS table, child.oid, quote_ident(child.relname) AS partition,
           child.relowner, child.relacl, child.relpersistence, child.relrowsecurity OR child.relforcerowsecurity AS has_policies,
           inhdetachpending
    FROM pg_inherits
    JOIN pg_class AS parent ON parent.oid = inhparent AND parent.relkind = 'p'
    JOIN own ON own.oid = parent.relnamespace
    JOIN pg_class AS child ON child.oid = inhrelid),
  fires AS MATERIALIZED (
    SELECT part.parent_oid, part.table, part.partition, pg_trigger.oid, tgparentid, quote_ident(tgname) AS name,
           CASE tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE' END AS state
    FROM part JOIN pg_trigger ON tgrelid = part.oid AND NOT tgisinternal)`

/** The names of the partitions of each table that has some. */
export async function readPartitions(client: pg.ClientBase): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ table: string; partitions: string[] }>(
    `WITH ${partitions} SELECT part.table, array_agg(partition ORDER BY partition) AS partitions FROM part GROUP BY 1`,
  )
  return new Map(rows.map(({ table, partitions }) => [table, partitions]))
}

const selectPartitionTriggers = `
  WITH ${partitions}
  SELECT DISTINCT fires.table, name, replace(pg_get_triggerdef(oid, true), ' ON sagapost.' || partition || ' ', ' ON sagapost.%s ') AS definition, state
  FROM fires WHERE tgparentid = 0
  ORDER BY 1, 2, 3, 4`

/** What partitions have beside what their table gives them, for the release's catalogue; the same for all of a table. */
export async function readPartitionTriggers(client: pg.ClientBase): Promise<PartitionTrigger[]> {
  return (await client.query<PartitionTrigger>(selectPartitionTriggers)).rows
}

// $1 to $4: the release's triggers of partitions. By EXCEPT, which sorts or hashes: an anti join became a nested loop, since the
// planner guesses one partition (1.2 s for 1,200 of them instead of 0.1).
const selectFaults = `
  WITH ${partitions},
  wanted AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS wanted ("table", name, definition, state)),
  own_trigger AS MATERIALIZED (
    SELECT fires.table, partition, name, state,
           replace(pg_get_triggerdef(oid, true), ' ON sagapost.' || partition || ' ', ' ON sagapost.%s ') AS definition
    FROM fires WHERE tgparentid = 0)
  SELECT lacking.table, partition, 'trigger_missing' AS kind, name, definition AS detail
  FROM (SELECT part.table, partition, name, definition FROM part JOIN wanted ON wanted.table = part.table
        EXCEPT SELECT own_trigger.table, partition, name, definition FROM own_trigger) AS lacking
  UNION ALL
  SELECT there.table, partition, 'trigger_state', name, wanted.state
  FROM own_trigger AS there JOIN wanted USING ("table", name, definition) WHERE there.state <> wanted.state
  UNION ALL
  SELECT there.table, partition, 'trigger_extra', name, there.definition
  FROM own_trigger AS there LEFT JOIN wanted USING ("table", name) WHERE wanted.name IS NULL
  UNION ALL
  SELECT fires.table, partition, 'trigger_state', name,
         CASE tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE' END
  FROM fires JOIN pg_trigger AS above ON above.oid = fires.tgparentid
  WHERE state <> CASE tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE' END
  UNION ALL
  SELECT part.table, partition, 'index_missing', quote_ident(of_table.relname), coalesce((
           SELECT indexrelid::regclass::text FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid
           WHERE inhparent = of_table.oid AND indrelid = part.oid), '')
  FROM (SELECT part.oid, indexrelid FROM part JOIN pg_index ON indrelid = parent_oid
        EXCEPT SELECT indrelid, inhparent FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid
        WHERE indisvalid AND indisready) AS lacking
  JOIN part USING (oid) JOIN pg_class AS of_table ON of_table.oid = lacking.indexrelid
  UNION ALL
  SELECT part.table, partition, 'index_extra', indexrelid::regclass::text, CASE WHEN indisvalid THEN '' ELSE 'INVALID' END
  FROM part JOIN pg_index ON indrelid = part.oid
  WHERE NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid)
  UNION ALL
  SELECT part.table, partition, 'default', quote_ident(above.attname), ''
  FROM part
  JOIN pg_attribute AS above ON above.attrelid = parent_oid AND above.attnum > 0 AND NOT above.attisdropped
  JOIN pg_attribute AS own ON own.attrelid = part.oid AND own.attname = above.attname AND own.atthasdef <> above.atthasdef
  UNION ALL
  SELECT part.table, partition, 'unlogged', '', '' FROM part WHERE relpersistence <> 'p'
  UNION ALL
  SELECT part.table, partition, 'row_security', '', '' FROM part WHERE has_policies
  UNION ALL
  SELECT part.table, partition, 'detach_pending', '', '' FROM part WHERE inhdetachpending
  UNION ALL
  SELECT part.table, partition, 'other_owner', relowner::regrole::text, nspowner::regrole::text
  FROM part CROSS JOIN own WHERE relowner <> nspowner
  UNION ALL
  SELECT part.table, partition, 'grant', format('%s TO %s', privilege_type, coalesce(quote_ident(rolname), 'PUBLIC')), ''
  FROM part CROSS JOIN aclexplode(relacl) LEFT JOIN pg_roles ON pg_roles.oid = grantee WHERE grantee <> relowner
  ORDER BY 1, 2, 3, 4`

/** Where a partition is not as its table and the release want it. */
export async function readPartitionFaults(
  client: pg.ClientBase,
  wanted: readonly PartitionTrigger[],
): Promise<PartitionFault[]> {
  const { rows } = await client.query<PartitionFault>(selectFaults, [
    wanted.map(({ table }) => table),
    wanted.map(({ name }) => name),
    wanted.map(({ definition }) => definition),
    wanted.map(({ state }) => state),
  ])
  return rows
}
