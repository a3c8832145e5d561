import type pg from 'pg'
import type { EventRange } from './work-window.js'

/** The number of ranges of the four growing tables that are read at once: about 310 locks of tables and indexes. */
export const RANGES_PER_SPAN = 8

/** The first possible id in any of the tables. */
export const FIRST_EVENT_ID = '0'

// Each span ends where the next begins, so that ids without a partition belong to one as well. $1 is the first id, $2
// RANGES_PER_SPAN.
export const selectEventSpans = `
  SELECT greatest(coalesce(from_id, 0), $1)::text AS "from", coalesce(to_id, 9223372036854775807)::text AS "to"
  FROM sagapost.partition_groups($2)
  WHERE to_id IS NULL OR to_id > $1
  ORDER BY from_id NULLS FIRST`

/**
 * All event ids, cut at the borders of partitions, oldest first. One statement over hundreds of partitions would need
 * more locks, one for each partition and each of its indexes, than PostgreSQL's lock table holds.
 */
export async function readEventSpans(client: pg.Pool | pg.ClientBase): Promise<EventRange[]> {
  const { rows } = await client.query<EventRange>(selectEventSpans, [FIRST_EVENT_ID, RANGES_PER_SPAN])
  return rows
}

/**
 * Visits one span after the other in a transaction and releases the locks of each, which would otherwise pile up until
 * the transaction ends. The snapshot stays. The statements must bound each growing table by the span, so that the
 * planner leaves the other partitions out.
 */
export async function inEachSpan(
  transaction: { query(text: string, values: unknown[]): Promise<unknown> },
  spans: readonly EventRange[],
  look: (span: EventRange) => Promise<void>,
): Promise<void> {
  for (const span of spans) {
    await transaction.query('SAVEPOINT span', [])
    await look(span)
    await transaction.query('ROLLBACK TO SAVEPOINT span; RELEASE SAVEPOINT span', [])
  }
}
