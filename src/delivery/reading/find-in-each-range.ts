import type pg from 'pg'
import { byId, isWithin, readRanges, withinRange } from '../../database/index.js'
import type { Found } from './walk-deliveries.js'

/** Reads the partitions of one range only. */
export interface Ranged {
  query<Row extends pg.QueryResultRow>(sql: string, values: unknown[]): Promise<{ rows: Row[] }>
}

interface Wanted {
  eventId: string | undefined
  rowsMax: number
}

/**
 * A page of a list by id, range by range from the newest. A search that stops early in one range ends the page.
 * Partitions older than the page are not queried.
 */
export async function findInEachRange(
  pool: pg.Pool,
  { eventId, rowsMax }: Wanted,
  find: (ranged: Ranged) => Promise<Found>,
): Promise<Found> {
  let found: Found = { rows: [], examinedTo: null }
  for (const range of await readRanges(pool)) {
    if (eventId !== undefined && !isWithin(range, BigInt(eventId))) continue
    const floor = found.rows.length === rowsMax ? (found.rows.at(-1)?.id ?? null) : found.examinedTo
    const ranged: Ranged = { query: (sql, values) => pool.query(withinRange(sql, range, floor), values) }
    found = merge(found, await find(ranged), rowsMax)
  }
  return found
}

function merge(one: Found, other: Found, rowsMax: number): Found {
  const examinedTo = newest(one.examinedTo, other.examinedTo)
  const rows = [...one.rows, ...other.rows].sort(byId)
  const known = examinedTo === null ? rows : rows.filter(({ id }) => BigInt(id) >= BigInt(examinedTo))
  return { rows: known.slice(0, rowsMax), examinedTo }
}

function newest(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return BigInt(one) > BigInt(other) ? one : other
}
