import { type EventRange, RANGES_PER_SPAN, selectEventSpans } from '../database/index.js'
import type { SnapshotReader } from './read-snapshot.js'

const ROWS_PER_PAGE = 10_000

/** The spans of event ids that are looked at one after the other, from the given id on. */
export function readSpans(reader: SnapshotReader, fromId: string): Promise<EventRange[]> {
  return reader.query<EventRange>(selectEventSpans, [fromId, RANGES_PER_SPAN])
}

/** The rows of a span by their ids: $1 and $2 bound the span, $3 is the last id of the page before, $4 how many to read. */
export async function* readPages<Row extends { id: string }>(
  reader: SnapshotReader,
  sql: string,
  { from, to }: EventRange,
): AsyncGenerator<Row> {
  let after = '0'
  for (let more = true; more; ) {
    const page = await reader.query<Row>(sql, [from, to, after, ROWS_PER_PAGE])
    yield* page
    after = page.at(-1)?.id ?? after
    more = page.length === ROWS_PER_PAGE
  }
}
