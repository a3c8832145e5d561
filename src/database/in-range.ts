import { forgetPrepared, isPrepared, prepared } from './prepared.js'
import type { EventRange } from './work-window.js'

/** A process may use several databases, each with its own range. */
const RANGES_KEPT = 4
/** The text with its bounds written out, by statement and planned range. */
const known = new Map<string, Map<string, string>>()

/** The two forms in which our statements bound a table's partitions. */
const bounds = /\((\S+) >= \$1 OR \1 > \$2\) AND \(\1 < \$2 OR \1 <= \$1\)|(\S+) >= \$1\s+AND \2 < \$2/g

/**
 * Writes a statement's bounds $1 and $2 out, so that the planner leaves the other partitions out: a generic plan locks
 * every partition on each call, and with 301 ranges a delivery took 2.6 times the CPU. Statements for the fresh range
 * stay prepared, with at least two partitions, of which the values exclude the second when a statement starts; others
 * are planned each time.
 */
export function inRange(statement: string, range: EventRange): string {
  if (!range.planned || !isPrepared(statement)) return writeOut(statement, range)
  const key = `${range.planned.from} ${range.planned.to}`
  const texts = known.get(statement) ?? new Map<string, string>()
  const text = texts.get(key)
  if (text !== undefined) return text
  known.set(statement, texts)
  const [oldest] = texts.size >= RANGES_KEPT ? texts : []
  if (oldest) {
    texts.delete(oldest[0])
    forgetPrepared(oldest[1])
  }
  const made = prepared(writeOut(statement, range.planned))
  texts.set(key, made)
  return made
}

function writeOut(statement: string, { from, to }: EventRange): string {
  const [first, end] = [from, to].map((bound) => `bigint '${BigInt(bound)}'`)
  return statement.replace(bounds, (found, around?: string, plain?: string) =>
    around === undefined
      ? `${found} AND ${plain} >= ${first} AND ${plain} < ${end}`
      : `${found} AND (${around} >= ${first} OR ${around} > ${end}) AND (${around} < ${end} OR ${around} <= ${first})`,
  )
}
