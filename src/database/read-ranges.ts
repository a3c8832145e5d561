import type pg from 'pg'

/** A statement reads at most so many partitions of a table at once. */
const PARTITIONS_AT_ONCE = 16
/** Partitions that were made since are in the newest group, which has no end. */
const CACHE_MS = 10_000

/** Event ids from `from` up to, not including, `to`; null where there is no bound. */
export interface ReadRange {
  from: string | null
  to: string | null
}

const selectGroups = `SELECT from_id AS "from", to_id AS "to" FROM sagapost.partition_groups($1)`

const known = new WeakMap<pg.Pool, { ranges: readonly ReadRange[]; atMs: number }>()

/**
 * The groups of partitions that a statement over all of them is run for, newest first. A single one without bounds where
 * there are few partitions. Under the role saga_readonly_role.
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

/** The rows of one range after the other, newest first, each in a transaction of its own. */
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
  /** Of the statement's ORDER BY. */
  order: (one: Row, other: Row) => number
  /** Of the statement's LIMIT. */
  limit: number
}

/** What a statement over all partitions would read, in its order and up to its limit, without locking all of them at once. */
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

/** The rows of all ranges as they come, newest range first: for sums. */
export async function readEveryRange<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const found: Row[][] = []
  for await (const rows of eachRange<Row>(pool, statement, values)) found.push(rows)
  return found.flat()
}

/** The rows of the newest range that has any: for what lies in one partition, and the caller does not know in which. */
export async function findInRanges<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: string,
  values: readonly unknown[],
): Promise<Row[]> {
  for await (const rows of eachRange<Row>(pool, statement, values)) if (rows.length > 0) return rows
  return []
}

/** The rows of events that are known by their ids: only their ranges are read. */
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
