import type pg from 'pg'

/** The most partitions of a table that a statement reads at once. */
const PARTITIONS_AT_ONCE = 16
/** Partitions created since then belong to the newest group, which has no upper bound. */
const CACHE_MS = 10_000

/** Event ids from `from` up to, but not including, `to`; null where unbounded. */
export interface ReadRange {
  from: string | null
  to: string | null
}

const selectGroups = `SELECT from_id AS "from", to_id AS "to" FROM sagapost.partition_groups($1)`

const known = new WeakMap<pg.Pool, { ranges: readonly ReadRange[]; atMs: number }>()

/**
 * The groups of partitions over which a statement is run, newest first: a single unbounded group when there are few
 * partitions. Under the role saga_readonly_role.
 */
export async function readRanges(pool: pg.Pool): Promise<readonly ReadRange[]> {
  const cached = known.get(pool)
  if (cached && performance.now() - cached.atMs < CACHE_MS) return cached.ranges
  const { rows } = await pool.query<ReadRange>(selectGroups, [PARTITIONS_AT_ONCE])
  const ranges = rows.length > 0 ? rows : [{ from: null, to: null }]
  known.set(pool, { ranges, atMs: performance.now() })
  return ranges
}

/**
 * A statement with the bounds of a range in place of each marker, which names the column: `range of letter.event_id` as a
 * comment, after the other conditions. `floor of saga_id` is where the list stops. See
 * docs/internals/hot-statements.md#marked-ranges.
 */
export function withinRange(statement: string, { from, to }: ReadRange, floor: string | null = null): string {
  const bounded =
    floor === null
      ? statement
      : statement.replace(/\/\* floor of ([a-z_.]+) \*\//g, `AND $1 >= bigint '${BigInt(floor)}'`)
  return bounded.replace(/\/\* range of ([a-z_.]+) \*\//g, (_, column) => {
    const lower = from === null ? '' : ` AND ${column} >= bigint '${BigInt(from)}'`
    const upper = to === null ? '' : ` AND ${column} < bigint '${BigInt(to)}'`
    return `${lower}${upper}`.trimStart()
  })
}

/** Yields the rows of one range after the other, newest first, each in its own transaction. */
async function* eachRange<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
): AsyncGenerator<Row[]> {
  for (const range of await readRanges(pool)) {
    yield (await pool.query<Row>(withinRange(statement, range), [...values])).rows
  }
}

interface RowOrder<Row> {
  /** The order of the statement's ORDER BY. */
  order: (one: Row, other: Row) => number
  /** The statement's LIMIT. */
  limit: number
}

/**
 * Reads what a statement over all partitions would return, in its order and up to its limit, without locking all
 * partitions at once.
 */
export async function readInRanges<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
  { order, limit }: RowOrder<Row>,
): Promise<Row[]> {
  let merged: Row[] = []
  let isFirst = true
  for await (const rows of eachRange<Row>(pool, statement, values)) {
    merged = isFirst ? rows : [...merged, ...rows].sort(order).slice(0, limit)
    isFirst = false
  }
  return merged
}

/** Reads the rows of all ranges, newest range first: for sums. */
export async function readEveryRange<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const found: Row[][] = []
  for await (const rows of eachRange<Row>(pool, statement, values)) found.push(rows)
  return found.flat()
}

/** Reads the rows of the newest range that has any: for rows that lie in one unknown partition. */
export async function findInRanges<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
): Promise<Row[]> {
  for await (const rows of eachRange<Row>(pool, statement, values)) if (rows.length > 0) return rows
  return []
}

/** Reads the rows of known event ids: only their ranges are visited. */
export async function readRangesOf<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  eventIds: readonly string[],
  valuesOf: (eventIds: string[]) => unknown[] = (ids) => [ids],
): Promise<Row[]> {
  const found: Row[][] = []
  for (const range of await readRanges(pool)) {
    const ids = eventIds.filter((id) => isWithin(range, BigInt(id)))
    if (ids.length === 0) continue
    found.push((await pool.query<Row>(withinRange(statement, range), valuesOf(ids))).rows)
  }
  return found.flat()
}

export const isWithin = ({ from, to }: ReadRange, id: bigint) =>
  (from === null || id >= BigInt(from)) && (to === null || id < BigInt(to))

interface Placed {
  id: string
}

/** Newest first by id. */
export const byId = (one: Placed, other: Placed): number => compare(BigInt(other.id), BigInt(one.id))

/** Newest first by time, then id. */
export const byTime = (
  one: Placed & { at_us: number | string },
  other: Placed & { at_us: number | string },
): number => compare(BigInt(other.at_us), BigInt(one.at_us)) || byId(one, other)

const compare = (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0)
