import { type DatabaseRole, databaseRoles } from '../../database/index.js'
import type { Difference, DifferenceCode } from './difference.js'
import { mendAltered, mendExtra, mendMissing, type Surroundings } from './mend-object.js'
import { keyOf, type ObjectKind, objectKinds, type SchemaObject } from './schema-object.js'

/** What differs between the release's schema and the live one, in the order in which it can be mended. */
export function compareObjects(
  release: readonly SchemaObject[],
  live: readonly SchemaObject[],
  partitionsOf: Surroundings['partitionsOf'] = () => [],
): Difference[] {
  const wanted = new Map(release.map((object) => [keyOf(object), object]))
  const there = new Map(live.map((object) => [keyOf(object), object]))
  const surroundings: Surroundings = { wanted: release, partitionsOf }
  const found: [ObjectKind, Difference][] = []
  for (const object of release) {
    const other = there.get(keyOf(object))
    if (other === undefined) {
      if (isWithin(object, there)) found.push([object.kind, missing(object, surroundings)])
    } else if (meaningOf(other) !== meaningOf(object)) {
      found.push([object.kind, altered(object, other, surroundings)])
    }
  }
  for (const object of live) {
    if (!wanted.has(keyOf(object)) && isWithin(object, wanted))
      found.push([object.kind, extra(object, wanted)])
  }
  return found
    .sort(([one], [other]) => objectKinds.indexOf(one) - objectKinds.indexOf(other))
    .map(([, difference]) => difference)
}

/** Whether what it belongs to is there: what is gone with its table, or came with it, is told with the table. */
function isWithin({ kind, on, name }: SchemaObject, objects: ReadonlyMap<string, SchemaObject>): boolean {
  const has = (parentKind: ObjectKind, parentName: string, parentOn = '') =>
    objects.has(keyOf({ kind: parentKind, on: parentOn, name: parentName, definition: '' }))
  if (kind === 'membership') return has('role', on)
  const [, objectKind = '', objectName = ''] = /^(\w+) (?:sagapost\.)?(.+)$/.exec(on) ?? []
  if (['other_owner', 'grant', 'column_grant', 'owner_lacks'].includes(kind)) {
    return (
      objectKind === 'SCHEMA' ||
      (['table', 'view', 'sequence', 'function', 'type'] as const).some((each) => has(each, objectName))
    )
  }
  if (on === '') return true
  if (!has('table', on) && !has('view', on)) return false
  if (kind === 'default' || kind === 'not_null') return has('column', name, on)
  if (kind === 'trigger_state') return has('trigger', name, on)
  if (kind !== 'index_state') return true
  return has('index', name, on) || has('constraint', name.replace('sagapost.', ''), on)
}

/** PostgreSQL 15 writes the table before every column of a view, 18 only where there is more than one. */
function meaningOf({ kind, definition }: SchemaObject): string {
  if (kind === 'column_grant') return definition.split(', ').sort().join()
  if (kind !== 'view') return definition
  return definition.replaceAll(/\b(?!sagapost\.)[a-z_]+\.(?=[a-z_"])/g, '').replaceAll(/\s+/g, ' ')
}

/** Fillfactor, thresholds of autovacuum: an operator's to choose. The options of views say with whose rights they read. */
function isTuning({ kind, name }: SchemaObject): boolean {
  return kind === 'option' && !name.startsWith('security_')
}

const missingCodes: Partial<Record<ObjectKind, DifferenceCode>> = {
  index: 'index_missing',
  trigger: 'trigger_missing',
  grant: 'grant_missing',
  column_grant: 'grant_missing',
}

function missing(object: SchemaObject, surroundings: Surroundings): Difference {
  return {
    code: missingCodes[object.kind] ?? 'object_missing',
    severity: isTuning(object) ? 'note' : 'failing',
    object: describe(object),
    detail: 'is missing',
    mend: mendMissing(object, surroundings),
  }
}

function altered(object: SchemaObject, live: SchemaObject, surroundings: Surroundings): Difference {
  const difference = {
    object: describe(object),
    mend: mendAltered(object, live, surroundings),
  }
  switch (object.kind) {
    case 'index_state':
      return {
        ...difference,
        code: 'index_invalid',
        severity: 'failing',
        detail: 'is invalid: no query uses it',
      }
    case 'trigger_state':
      return live.definition === 'ENABLE'
        ? {
            ...difference,
            code: 'object_altered',
            severity: 'attention',
            detail: `is ENABLE, not ${object.definition}`,
          }
        : { ...difference, code: 'trigger_disabled', severity: 'failing', detail: 'is disabled' }
    case 'column_grant':
      return columnsDiffer(object, live)
    case 'option':
      return {
        ...difference,
        code: 'object_altered',
        severity: isTuning(object) ? 'note' : 'failing',
        detail: `is ${live.definition}, not ${object.definition}`,
      }
    case 'function':
    case 'view':
      return {
        ...difference,
        code: 'object_altered',
        severity: 'failing',
        detail: 'has a different definition',
      }
    default:
      return {
        ...difference,
        code: 'object_altered',
        severity: object.kind === 'role' ? 'attention' : 'failing',
        detail: `is ${live.definition || 'plain'}, not ${object.definition || 'plain'}`,
      }
  }
}

function columnsDiffer(object: SchemaObject, live: SchemaObject): Difference {
  const [wanted, there] = [object, live].map(({ definition }) => definition.split(', ')) as [
    string[],
    string[],
  ]
  const lacking = wanted.filter((column) => !there.includes(column))
  const added = there.filter((column) => !wanted.includes(column))
  const only = (columns: string[]) => ({ ...object, definition: columns.join(', ') })
  return {
    code: lacking.length > 0 ? 'grant_missing' : 'grant_extra',
    severity: lacking.length > 0 ? 'failing' : 'attention',
    object: describe(only([...lacking, ...added])),
    detail: [
      ...(lacking.length > 0 ? [`lacks ${lacking.join(', ')}`] : []),
      ...(added.length > 0 ? [`has ${added.join(', ')} as well`] : []),
    ].join('; '),
    mend: [
      ...(lacking.length > 0 ? mendMissing(only(lacking)) : []),
      ...(added.length > 0 ? mendExtra(only(added)) : []),
    ],
  }
}

/** A partition that retention has detached and not dropped yet. */
const DETACHED =
  /^(events|webhook_delivery_sagas|webhook_delivery_jobs|dead_letters|saga_events)_(from_\w+|before)$/

function extra(object: SchemaObject, wanted: ReadonlyMap<string, SchemaObject>): Difference {
  const { kind, on, name } = object
  const difference = { object: describe(object), mend: mendExtra(object) }
  if (kind === 'owner_lacks') {
    return { ...difference, code: 'grant_missing', severity: 'failing', detail: 'was revoked from the owner' }
  }
  if (kind === 'other_owner') {
    return { ...difference, code: 'object_altered', severity: 'failing', detail: detailOfOwner(object) }
  }
  if (kind === 'index' || (kind === 'index_state' && !wanted.has(keyOf({ ...object, kind: 'index' })))) {
    return { ...difference, code: 'index_extra', severity: 'note', detail: 'is not part of this release' }
  }
  if (kind === 'grant' || kind === 'column_grant' || kind === 'membership') {
    const isOfOurs = kind === 'membership' || isOurs(granteeOf(name))
    return {
      ...difference,
      code: 'grant_extra',
      severity: isOfOurs ? 'attention' : 'note',
      detail:
        kind === 'membership' ? 'gives the role privileges beyond its own' : 'is not part of this release',
      mend: isOfOurs ? difference.mend : [],
    }
  }
  const isDetached = kind === 'table' && DETACHED.test(name)
  return {
    ...difference,
    code: 'object_extra',
    severity: isTuning(object) || isDetached ? 'note' : kind === 'rule' ? 'failing' : 'attention',
    detail: isDetached
      ? 'is a detached partition'
      : `is not part of this release${kind === 'rule' ? `: it changes what statements on ${on} do` : ''}`,
  }
}

/** A function may run with other rights than it should, and the owner of a table can take its guards away. */
export function detailOfOwner({ name, definition }: Pick<SchemaObject, 'name' | 'definition'>): string {
  return `belongs to ${name} instead of ${definition}`
}

/** `SELECT TO router_worker`, perhaps with the grant option. */
function granteeOf(name: string): string {
  return name.replace(/^.* TO /, '').replace(' WITH GRANT OPTION', '')
}

export function isOurs(grantee: string): boolean {
  return grantee === 'PUBLIC' || databaseRoles.includes(grantee as DatabaseRole)
}

function describe({ kind, on, name, definition }: SchemaObject): string {
  switch (kind) {
    case 'grant':
    case 'owner_lacks':
      return `grant ${name.replace(' TO ', ` ON ${on} TO `)}`
    case 'column_grant':
      return `grant ${name.replace(' TO ', ` (${definition}) ON ${on} TO `)}`
    case 'membership':
      return `membership of ${on} in ${name}`
    case 'role':
      return `role ${name}`
    case 'other_owner':
      return on.replace(/^\w+/, (what) => what.toLowerCase())
    default: {
      const what = kind
        .replace('_state', '')
        .replace('not_null', 'NOT NULL of')
        .replace('default', 'default of')
      return `${what} ${on === '' ? `sagapost.${name}` : `${name} on sagapost.${on}`}`
    }
  }
}
