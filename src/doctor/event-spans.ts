import type { EventRange } from '../database/index.js'
import type { SnapshotReader } from './read-snapshot.js'

/** So many ranges of the four growing tables are read at once: some 230 locks of tables and indexes. */
export const RANGES_PER_SPAN = 8

// From the catalogue. Each span ends where the next begins, so that ids without a partition belong to one as well.
const selectSpans = `
  SELECT from_id::text AS "from", lead(from_id, 1, 9223372036854775807) OVER (ORDER BY from_id)::text AS "to"
  FROM (SELECT from_id, row_number() OVER (ORDER BY from_id) - 1 AS place
        FROM (SELECT DISTINCT from_id FROM sagapost.partitions WHERE from_id >= $1) AS part) AS numbered
  WHERE place % $2 = 0
  ORDER BY from_id`

/** All event ids from the given one on, cut where partitions begin, oldest first. */
export function readEventSpans(reader: SnapshotReader, fromId: string): Promise<EventRange[]> {
  return reader.query<EventRange>(selectSpans, [fromId, RANGES_PER_SPAN])
}

const ROWS_PER_PAGE = 10_000

/** The first id that any of the tables can hold. */
export const FIRST_ID = '0'

/**
 * Looks at one span after the other, and lets go of the locks of each: else those of all partitions would pile up until
 * the transaction ends. The snapshot stays. The statements must bound each growing table by the span, so that the
 * planner leaves the other partitions out.
 */
export async function inEachSpan(
  reader: SnapshotReader,
  spans: readonly EventRange[],
  look: (span: EventRange) => Promise<void>,
): Promise<void> {
  for (const span of spans) {
    await reader.query('SAVEPOINT span', [])
    await look(span)
    await reader.query('ROLLBACK TO SAVEPOINT span', [])
    await reader.query('RELEASE SAVEPOINT span', [])
  }
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
