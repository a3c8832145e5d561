import { type EventRange, RANGES_PER_SPAN, selectEventSpans } from '../database/index.js'
import type { SnapshotReader } from './read-snapshot.js'

const ROWS_PER_PAGE = 10_000

/** The spans of event ids that are looked at one after the other, from the given id on. */
export function readSpans(reader: SnapshotReader, fromId: string): Promise<EventRange[]> {
  return reader.query<EventRange>(selectEventSpans, [fromId, RANGES_PER_SPAN])
}

/**
 * The rows of a span in any order, page by page, by a statement that declares the cursor `pages` with $1 and $2 as the
 * span's bounds. Pages by key would sort the whole span for each where tables have no statistics.
 */
export async function* readPages<Row extends object>(
  reader: SnapshotReader,
  sql: string,
  { from, to }: EventRange,
): AsyncGenerator<Row> {
  await reader.query(sql, [from, to])
  for (let more = true; more; ) {
    const page = await reader.query<Row>(`FETCH ${ROWS_PER_PAGE} FROM pages`, [])
    yield* page
    more = page.length === ROWS_PER_PAGE
  }
  await reader.query('CLOSE pages', [])
}
