/** One fact of a schema: what it is, what it belongs to (empty: the schema), its name, and how it is defined. */
export interface SchemaObject {
  kind: ObjectKind
  on: string
  name: string
  definition: string
}

/** What is missing is made in this order. */
export const objectKinds = [
  'role',
  'membership',
  // Before the grants: a new owner takes the place of the old one in them.
  'other_owner',
  'type',
  'sequence',
  'table',
  'column',
  'default',
  'not_null',
  'function',
  'view',
  'option',
  'constraint',
  'index',
  'index_state',
  'trigger',
  'trigger_state',
  'rule',
  'policy',
  'grant',
  'column_grant',
  'owner_lacks',
] as const

export type ObjectKind = (typeof objectKinds)[number]

/** Of an object among those of its schema. */
export function keyOf({ kind, on, name }: SchemaObject): string {
  return `${kind}\0${on}\0${name}`
}
