import type { RuleId } from './rule-titles.js'

export interface InvariantName {
  name: string
  rules: readonly RuleId[]
}

/**
 * One statement that finds what breaks the invariant: rows of `id`, `detail` and `total` (how many there are in all), of
 * events from $1 to below $2, at most $3 of them (those of general sagas: at most $1). Each growing table has both bounds
 * of its own: the planner does not take them over a join, and would lock all partitions.
 */
export interface Invariant extends InvariantName {
  sql: string
}
