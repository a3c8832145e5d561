import type { Rule } from './violation.js'

/**
 * One statement that finds what breaks the rule: rows of `id`, `detail` and `total` (how many there are in all), of
 * events from $1 on, at most $2 of them (those of general sagas: at most $1). Whole tables are read: nothing here is for the hot path.
 */
export interface Invariant extends Rule {
  sql: string
}
