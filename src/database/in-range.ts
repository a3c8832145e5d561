import { forgetPrepared, isPrepared, prepared } from './prepared.js'
import type { EventRange } from './work-window.js'

/** A process may use several databases, each with its own range. */
const RANGES_KEPT = 4
/** The text with its bounds written out, by statement and planned range. */
const known = new Map<string, Map<string, string>>()

/** The two forms in which our statements bound a table's partitions. */
const bounds = /\((\S+) >= \$1 OR \1 > \$2\) AND \(\1 < \$2 OR \1 <= \$1\)|(\S+) >= \$1\s+AND \2 < \$2/g

/**
 * A statement whose bounds, $1 and $2, are written out as well: docs/internals/hot-statements.md#bounds-written-out.
 * Prepared statements stay prepared for the fresh range, which has two partitions at least; others are planned each time.
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
