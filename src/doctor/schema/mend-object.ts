import type { ObjectKind, SchemaObject } from './schema-object.js'

export interface Surroundings {
  wanted: readonly SchemaObject[]
  /** Of a partitioned table, by its name; of another, none. */
  partitionsOf(table: string): readonly string[]
}

/** Statements that create a missing object without risk to stored data; none where no statement is safe. */
export function mendMissing(
  object: SchemaObject,
  { wanted, partitionsOf }: Surroundings = nowhere,
): string[] {
  const { kind, on, name, definition } = object
  const own = (other: ObjectKind) => definitionOf(wanted, other, object)
  switch (kind) {
    case 'role':
      return [`CREATE ROLE ${name} NOLOGIN`]
    case 'membership':
      return [`GRANT ${name} TO ${on}`]
    case 'function':
      return [
        definition.trimEnd(),
        `REVOKE ALL ON FUNCTION sagapost.${name} FROM PUBLIC`,
        ...grantsOn(`FUNCTION sagapost.${name}`, wanted),
      ]
    case 'view':
      return [createView(object, wanted), ...grantsOn(`TABLE sagapost.${name}`, wanted)]
    case 'column': {
      const preset = own('default')
      const isRequired = own('not_null') !== undefined
      if (definition.includes(' GENERATED ') || (isRequired && preset === undefined)) return []
      return [
        `ALTER TABLE sagapost.${on} ADD COLUMN ${name} ${definition}` +
          `${preset === undefined ? '' : ` DEFAULT ${preset}`}${isRequired ? ' NOT NULL' : ''}`,
      ]
    }
    case 'default':
      return [`ALTER TABLE sagapost.${on} ALTER COLUMN ${name} SET DEFAULT ${definition}`]
    case 'not_null':
      return requireColumn(on, name)
    case 'option':
      return [`ALTER ${isView(on, wanted) ? 'VIEW' : 'TABLE'} sagapost.${on} SET (${name} = ${definition})`]
    case 'constraint':
      return addConstraint(object, partitionsOf(on).length > 0)
    case 'index':
      return createIndex(object, partitionsOf(on))
    case 'trigger':
      return [definition, ...setState(on, name, own('trigger_state'))]
    case 'grant':
    case 'column_grant':
      return [grant(object)]
    default:
      return []
  }
}

/** Statements that change a present object to its definition in the release. */
export function mendAltered(object: SchemaObject, live: SchemaObject, surroundings: Surroundings): string[] {
  const { kind, on, name, definition } = object
  switch (kind) {
    case 'role':
      return [`ALTER ROLE ${name} ${live.definition.replaceAll(/\b(?=[A-Z])/g, 'NO')}`]
    case 'function':
      return returnsOf(definition) === returnsOf(live.definition) ? [definition.trimEnd()] : []
    case 'view':
      return [createView(object, surroundings.wanted)]
    case 'sequence':
      return [`ALTER SEQUENCE sagapost.${name} ${definition}`]
    case 'table':
      return live.definition === [definition, 'ROW LEVEL SECURITY'].filter(Boolean).join(', ')
        ? [`ALTER TABLE sagapost.${name} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY`]
        : []
    case 'default':
    case 'option':
      return mendMissing(object, surroundings)
    case 'constraint':
      return mendConstraint(object, live)
    case 'index':
      return [`DROP INDEX ${name}`, ...createIndex(object, surroundings.partitionsOf(on))]
    case 'index_state':
      // Of a partitioned table, the index is valid once those of its partitions are: each is told by itself.
      return surroundings.partitionsOf(on).length > 0 ? [] : [`REINDEX INDEX CONCURRENTLY ${name}`]
    case 'trigger':
      // Replaced, it is enabled as new ones are.
      return definition.startsWith('CREATE TRIGGER')
        ? [
            definition.replace('CREATE', 'CREATE OR REPLACE'),
            ...setState(on, name, definitionOf(surroundings.wanted, 'trigger_state', object)),
          ]
        : []
    case 'trigger_state':
      return setState(on, name, definition)
    default:
      return []
  }
}

/** Statements that remove what the release does not have; none for the operator's own objects. */
export function mendExtra(object: SchemaObject): string[] {
  const { kind, on, name, definition } = object
  switch (kind) {
    case 'other_owner':
      return [`ALTER ${on} OWNER TO ${definition}`]
    case 'grant':
    case 'column_grant':
      return [revoke(object)]
    case 'owner_lacks':
      return [grant(object)]
    case 'membership':
      return [`REVOKE ${name} FROM ${on}`]
    case 'default':
      return [`ALTER TABLE sagapost.${on} ALTER COLUMN ${name} DROP DEFAULT`]
    case 'not_null':
      return [`ALTER TABLE sagapost.${on} ALTER COLUMN ${name} DROP NOT NULL`]
    case 'rule':
      return [`DROP RULE ${name} ON sagapost.${on}`]
    default:
      return []
  }
}

/** Of another fact of the same name: the default of a column, the state of a trigger. */
function definitionOf(
  wanted: readonly SchemaObject[],
  kind: ObjectKind,
  { on, name }: SchemaObject,
): string | undefined {
  return wanted.find((each) => each.kind === kind && each.on === on && each.name === name)?.definition
}

const nowhere: Surroundings = { wanted: [], partitionsOf: () => [] }

/** With all of its options: to replace a view without them takes them away. */
function createView({ name, definition }: SchemaObject, wanted: readonly SchemaObject[]): string {
  const options = wanted
    .filter(({ kind, on }) => kind === 'option' && on === name)
    .map((option) => `${option.name} = ${option.definition}`)
  const settings = options.length > 0 ? ` WITH (${options.join(', ')})` : ''
  return `CREATE OR REPLACE VIEW sagapost.${name}${settings} AS ${definition.trim().replace(/;$/, '')}`
}

function isView(name: string, wanted: readonly SchemaObject[]): boolean {
  return wanted.some((each) => each.kind === 'view' && each.name === name)
}

function returnsOf(definition: string): string | undefined {
  return /^ RETURNS .*$/m.exec(definition)?.[0]
}

/** Reads the table without blocking writers: SET NOT NULL relies on a validated check. */
function requireColumn(table: string, column: string): string[] {
  const check = `"${column.replaceAll('"', '')}_is_not_null"`
  return [
    `ALTER TABLE sagapost.${table} ADD CONSTRAINT ${check} CHECK (${column} IS NOT NULL) NOT VALID`,
    `ALTER TABLE sagapost.${table} VALIDATE CONSTRAINT ${check}`,
    `ALTER TABLE sagapost.${table} ALTER COLUMN ${column} SET NOT NULL`,
    `ALTER TABLE sagapost.${table} DROP CONSTRAINT ${check}`,
  ]
}

/** PostgreSQL before 18 takes no foreign key of a partitioned table as NOT VALID; keys are built under a lock. */
function addConstraint({ on, name, definition }: SchemaObject, isPartitioned: boolean): string[] {
  const add = `ALTER TABLE sagapost.${on} ADD CONSTRAINT ${name} ${definition}`
  const mayWait = definition.startsWith('CHECK') || (definition.startsWith('FOREIGN KEY') && !isPartitioned)
  return mayWait ? [`${add} NOT VALID`, `ALTER TABLE sagapost.${on} VALIDATE CONSTRAINT ${name}`] : [add]
}

function mendConstraint({ on, name, definition }: SchemaObject, live: SchemaObject): string[] {
  const validate = `ALTER TABLE sagapost.${on} VALIDATE CONSTRAINT ${name}`
  if (live.definition === `${definition} NOT VALID`) return [validate]
  if (!definition.startsWith('CHECK')) return []
  return [
    `ALTER TABLE sagapost.${on} DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${definition} NOT VALID`,
    validate,
  ]
}

/** Without blocking writers, partition by partition. */
function createIndex({ on, name, definition }: SchemaObject, partitions: readonly string[]): string[] {
  const concurrently = (text: string) => text.replace(' INDEX ', ' INDEX CONCURRENTLY ')
  if (partitions.length === 0) return [concurrently(definition)]
  return [
    definition.replace(` ON sagapost.${on} `, ` ON ONLY sagapost.${on} `),
    ...partitions.flatMap((partition) => createPartitionIndex({ on, name, definition }, partition)),
  ]
}

/** Named as sagapost.name_partition_indexes() would. */
export function createPartitionIndex(
  { on, name, definition }: Pick<SchemaObject, 'on' | 'name' | 'definition'>,
  partition: string,
): string[] {
  const bare = name.replace('sagapost.', '')
  const own = bare + partition.slice(on.length)
  const create = definition
    .replace(` INDEX ${bare} `, ` INDEX CONCURRENTLY ${own} `)
    .replace(` ON sagapost.${on} `, ` ON sagapost.${partition} `)
  return [create, `ALTER INDEX ${name} ATTACH PARTITION sagapost.${own}`]
}

function setState(table: string, trigger: string, state: string | undefined): string[] {
  return state === undefined ? [] : [`ALTER TABLE sagapost.${table} ${state} TRIGGER ${trigger}`]
}

function grantsOn(object: string, wanted: readonly SchemaObject[]): string[] {
  return wanted
    .filter(({ kind, on }) => on === object && (kind === 'grant' || kind === 'column_grant'))
    .map(grant)
}

function grant({ on, name, definition }: SchemaObject): string {
  return `GRANT ${name.replace(' TO ', `${inParentheses(definition)} ON ${on} TO `)}`
}

function revoke({ on, name, definition }: SchemaObject): string {
  const isOption = name.endsWith(' WITH GRANT OPTION')
  const [privilege, grantee] = name.replace(' WITH GRANT OPTION', '').split(' TO ')
  return `REVOKE ${isOption ? 'GRANT OPTION FOR ' : ''}${privilege}${inParentheses(definition)} ON ${on} FROM ${grantee}`
}

function inParentheses(columns: string): string {
  return columns === '' ? '' : ` (${columns})`
}
