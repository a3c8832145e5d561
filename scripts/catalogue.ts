import type pg from 'pg'
import { readObjects } from '../src/doctor/schema/read-objects.js'
import { readPartitionTriggers } from '../src/doctor/schema/read-partitions.js'
import { isOfSagaEvents, type ReleaseCatalogue } from '../src/doctor/schema/release-catalogue.js'
import { objectKinds, type SchemaObject } from '../src/doctor/schema/schema-object.js'

/** Reads the catalogue of a database that was migrated just now, and leaves the database as it was. Under its owner. */
export async function readCatalogue(client: pg.ClientBase): Promise<ReleaseCatalogue> {
  await client.query('BEGIN')
  try {
    await client.query('SET LOCAL search_path = pg_catalog')
    const { rows } = await client.query<{ version: number }>(
      'SELECT max(version) AS version FROM sagapost.saga_schema_version',
    )
    const objects = await readObjects(client)
    await client.query('SELECT sagapost.partition_saga_events()')
    const partitioned = await readObjects(client)
    return {
      version: rows[0]?.version ?? 0,
      objects,
      partitionedSagaEvents: partitioned.filter(isOfSagaEvents),
      partitionTriggers: await readPartitionTriggers(client),
    }
  } finally {
    await client.query('ROLLBACK')
  }
}

/** A line for each object, in an order that depends on nothing but the objects: two branches' changes merge. */
export function formatCatalogue(catalogue: ReleaseCatalogue): string {
  const rows = (objects: readonly SchemaObject[]) =>
    [...objects]
      .sort(
        (one, other) =>
          objectKinds.indexOf(one.kind) - objectKinds.indexOf(other.kind) ||
          compare(one.on, other.on) ||
          compare(one.name, other.name),
      )
      .map(({ kind, on, name, definition }) => JSON.stringify([kind, on, name, definition]))
  const triggers = catalogue.partitionTriggers
    .map(({ table, name, definition, state }) => JSON.stringify([table, name, definition, state]))
    .sort(compare)
  const list = (name: string, lines: readonly string[]) => `"${name}": [\n${lines.join(',\n')}\n]`
  return `{\n${[
    `"version": ${catalogue.version}`,
    list('objects', rows(catalogue.objects)),
    list('partitionedSagaEvents', rows(catalogue.partitionedSagaEvents)),
    list('partitionTriggers', triggers),
  ].join(',\n')}\n}\n`
}

/** Not by locale: the file is the same wherever it is made. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
