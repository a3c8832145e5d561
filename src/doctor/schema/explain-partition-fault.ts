import { detailOfOwner, isOurs } from './compare-objects.js'
import type { Difference } from './difference.js'
import { createPartitionIndex } from './mend-object.js'
import type { PartitionFault, PartitionTrigger } from './read-partitions.js'
import type { SchemaObject } from './schema-object.js'

/** A partition that is not as its table is, with the statements that make it so. */
export function explainPartitionFault(
  { table, partition, kind, name, detail }: PartitionFault,
  release: readonly SchemaObject[],
  triggers: readonly PartitionTrigger[],
): Difference {
  const alter = `ALTER TABLE sagapost.${partition}`
  const of = (what: string) => `${what} on sagapost.${partition}`
  switch (kind) {
    case 'trigger_missing': {
      const state = triggers.find((each) => each.table === table && each.name === name)?.state
      return {
        code: 'partition_unguarded',
        severity: 'failing',
        object: of(`trigger ${name}`),
        detail: 'is missing',
        mend: [
          detail.replace('CREATE', 'CREATE OR REPLACE').replace('%s', partition),
          `${alter} ${state} TRIGGER ${name}`,
        ],
      }
    }
    case 'trigger_state':
      return {
        code: 'trigger_disabled',
        severity: 'failing',
        object: of(`trigger ${name}`),
        detail: 'is not enabled as it is on the table',
        mend: [`${alter} ${detail} TRIGGER ${name}`],
      }
    case 'trigger_extra':
      return {
        code: 'object_extra',
        severity: 'attention',
        object: of(`trigger ${name}`),
        detail: 'is not part of this release',
        mend: [],
      }
    case 'index_missing':
      return {
        code: 'index_missing',
        severity: 'failing',
        object: of(`partition of index ${name}`),
        detail: detail === '' ? 'is missing' : `is invalid: ${detail}`,
        mend: mendIndex({ table, partition, name, detail }, release),
      }
    case 'index_extra':
      return {
        code: 'index_extra',
        severity: 'note',
        object: of(`index ${name}`),
        detail: 'is not part of this release',
        mend: [],
      }
    case 'grant':
      return {
        code: 'grant_extra',
        severity: isOurs(name.replace(/^.* TO /, '')) ? 'attention' : 'note',
        object: `grant ${name.replace(' TO ', ` ON TABLE sagapost.${partition} TO `)}`,
        detail: 'privileges belong on the table, not on its partitions',
        mend: isOurs(name.replace(/^.* TO /, ''))
          ? [`REVOKE ${name.replace(' TO ', ` ON TABLE sagapost.${partition} FROM `)}`]
          : [],
      }
    case 'other_owner':
      return {
        code: 'object_altered',
        severity: 'failing',
        object: `table sagapost.${partition}`,
        detail: detailOfOwner({ name, definition: detail }),
        mend: [`${alter} OWNER TO ${detail}`],
      }
    default:
      return {
        code: 'partition_altered',
        object: `table sagapost.${partition}`,
        ...explainAltered({ table, partition, kind, name }, release),
      }
  }
}

function explainAltered(
  { table, partition, kind, name }: Pick<PartitionFault, 'table' | 'partition' | 'kind' | 'name'>,
  release: readonly SchemaObject[],
): Pick<Difference, 'severity' | 'detail' | 'mend'> {
  const alter = `ALTER TABLE sagapost.${partition}`
  switch (kind) {
    case 'default': {
      const preset = release.find(
        (each) => each.kind === 'default' && each.on === table && each.name === name,
      )?.definition
      return {
        severity: 'attention',
        detail: `does not have the default of its table for ${name}`,
        mend: [
          `${alter} ALTER COLUMN ${name} ${preset === undefined ? 'DROP DEFAULT' : `SET DEFAULT ${preset}`}`,
        ],
      }
    }
    case 'unlogged':
      return { severity: 'failing', detail: 'is UNLOGGED: a crash of the server empties it', mend: [] }
    case 'row_security':
      return {
        severity: 'attention',
        detail: 'has row-level security',
        mend: [`${alter} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY`],
      }
    default:
      return {
        severity: 'attention',
        detail: 'has an unfinished DETACH',
        mend: [`ALTER TABLE sagapost.${table} DETACH PARTITION sagapost.${partition} FINALIZE`],
      }
  }
}

function mendIndex(
  { table, partition, name, detail }: Pick<PartitionFault, 'table' | 'partition' | 'name' | 'detail'>,
  release: readonly SchemaObject[],
): string[] {
  if (detail !== '') return [`REINDEX INDEX CONCURRENTLY ${detail}`]
  const index = release.find(
    (each) => each.kind === 'index' && each.on === table && each.name === `sagapost.${name}`,
  )
  return index === undefined ? [] : createPartitionIndex(index, partition)
}
