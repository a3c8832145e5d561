/** A value as in JSON, with dates as strings. */
export type Presented<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Presented<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Presented<Value[Key]> }
      : Value

/** The result of an operation, with dates as RFC 3339 in UTC. */
export function present<Value>(value: Value): Presented<Value> {
  return presentAny(value) as Presented<Value>
}

function presentAny(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(presentAny)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, presentAny(each)]))
}

/**
 * The object as JSON with an additional field of JSON text, so that a payload is shown as published: parsing would turn
 * 1e400 into null and change large numbers.
 */
export function withJsonField(object: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${JSON.stringify(present(object)).slice(0, -1)},${JSON.stringify(name)}:${json}}`
}
