/** An invariant that the data breaks. */
export interface Violation {
  /** The invariant's name, stable. */
  invariant: string
  /** The ids of its rules in docs/internals/rules.md. */
  rules: readonly string[]
  /** How often it is broken, and what the first example says. */
  detail: string
  /** Ids of some rows that break it, at most EXAMPLES_MAX. */
  ids: readonly string[]
}

export const EXAMPLES_MAX = 10

interface InvariantName {
  name: string
  rules: readonly string[]
}

/** Collects violations of one invariant in bounded memory. */
export interface Breaches {
  add(id: string, detail: string): void
  /** Counts more of them, without examples. */
  addUnnamed(count: number): void
  /** Empty when the invariant holds. */
  violations(): Violation[]
}

export function collectBreaches({ name, rules }: InvariantName): Breaches {
  const ids: string[] = []
  let first = ''
  let total = 0
  return {
    add(id, detail) {
      if (total === 0) first = detail
      if (ids.length < EXAMPLES_MAX && !ids.includes(id)) ids.push(id)
      total += 1
    },
    addUnnamed(count) {
      total += count
    },
    violations: () => (total === 0 ? [] : [toViolation({ name, rules }, { total, first, ids })]),
  }
}

function toViolation(
  { name, rules }: InvariantName,
  { total, first, ids }: { total: number; first: string; ids: readonly string[] },
): Violation {
  return { invariant: name, rules, detail: `${total} ×, such as ${ids[0]}: ${first}`, ids }
}
