import { SagapostError } from '../errors/index.js'
import { isRowId } from './is-row-id.js'

const PAGE_ROWS_DEFAULT = 50
export const PAGE_ROWS_MAX = 200

/** The parameters that every list takes besides its filters. */
export interface PageRequest {
  /** `nextCursor` of the previous page. */
  cursor?: string | undefined
  limit?: number | undefined
}

export interface Page<Item> {
  data: Item[]
  /** Null on the last page. */
  nextCursor: string | null
}

/**
 * Where a page ended: the last row's id and, in lists that are ordered by time, its time in microseconds since 1970.
 */
export interface PagePosition {
  id: string
  atUs?: string | undefined
}

/** The number of rows to read: one more than the page holds, to see whether another page follows. */
export function rowsToRead(limit = PAGE_ROWS_DEFAULT): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_ROWS_MAX) {
    throw new SagapostError('query_invalid', `limit must be a whole number from 1 to ${PAGE_ROWS_MAX}`)
  }
  return limit + 1
}

/** Drops the extra row, or rows, and returns the cursor of the next page. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  rowsRead: number,
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => PagePosition,
): Page<Item> {
  const kept = rows.slice(0, rowsRead - 1)
  const last = kept.at(-1)
  const more = rows.length >= rowsRead && last !== undefined
  return { data: kept.map(toItem), nextCursor: more ? encodeCursor(positionOf(last)) : null }
}

/** The position of a cursor in a list that is ordered by id. */
export function readIdCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  const [id = '', ...more] = decodeCursor(cursor)
  if (more.length > 0 || !isRowId(id)) throw invalidCursor()
  return id
}

/** Sixteen digits reach the year 2286 and fit into the double by which PostgreSQL multiplies intervals. */
const MICROSECONDS = /^\d{1,16}$/

/** The position of a cursor in a list that is ordered by time, then id. */
export function readTimeCursor(
  cursor: string | undefined,
  isId: (id: string) => boolean = isRowId,
): { id: string | null; atUs: string | null } {
  if (cursor === undefined) return { id: null, atUs: null }
  const [id = '', atUs = '', ...more] = decodeCursor(cursor)
  if (more.length > 0 || !isId(id) || !MICROSECONDS.test(atUs)) throw invalidCursor()
  return { id, atUs }
}

export function encodeCursor({ id, atUs }: PagePosition): string {
  return Buffer.from(atUs === undefined ? id : `${id} ${atUs}`).toString('base64url')
}

function decodeCursor(cursor: string): string[] {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('latin1') : ''
  // Node skips characters that are not base64url: a cursor of ours encodes back to the same text.
  if (text === '' || Buffer.from(text, 'latin1').toString('base64url') !== cursor) throw invalidCursor()
  return text.split(' ')
}

function invalidCursor(): SagapostError {
  return new SagapostError('query_invalid', 'cursor must be the nextCursor of the page before')
}
