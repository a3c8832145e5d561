/** A value as JSON has it: dates are text. */
export type Presented<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Presented<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Presented<Value[Key]> }
      : Value

/** What an operation returned, with its dates as RFC 3339 in UTC. */
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
 * The object as JSON text with one more field that is JSON text already. A payload is shown as it was published: taken
 * through values, 1e400 would become null, and large numbers others.
 */
export function withJsonField(object: Readonly<Record<string, unknown>>, name: string, json: string): string {
  return `${JSON.stringify(present(object)).slice(0, -1)},${JSON.stringify(name)}:${json}}`
}
