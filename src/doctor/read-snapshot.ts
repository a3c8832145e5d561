import type pg from 'pg'
import { inTransaction } from '../database/index.js'

/** A check reads whole tables: it may take longer than any statement of a part. */
const QUERY_MS_MAX = 10 * 60_000

/** Queries of one moment, under whatever role the connection has. */
export interface SnapshotReader {
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>
}

export function readThrough(client: pg.ClientBase | pg.Pool): SnapshotReader {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]) {
      // The pool's own limit is the parts'; `pg` takes another one here, though its types do not say so.
      const statement: pg.QueryConfig & { query_timeout: number } = {
        text,
        values: [...values],
        query_timeout: QUERY_MS_MAX,
      }
      const { rows } = await client.query<Row & pg.QueryResultRow>(statement)
      return rows
    },
  }
}

// A plan without the bounds' values locks every partition, and bounds look narrow where a table has no statistics:
// docs/internals/decisions.md#reading-hundreds-of-partitions.
const planWholeSpans = `
  SET LOCAL plan_cache_mode = 'force_custom_plan';
  SET LOCAL enable_partition_pruning = on;
  SET LOCAL enable_nestloop = off`

/** All queries see one moment of a database that others go on writing to, and none can write. */
export function inSnapshot<T>(pool: pg.Pool, work: (reader: SnapshotReader) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await client.query(planWholeSpans)
    return work(readThrough(client))
  })
}

// Retention takes a range from the four tables one after the other: what is not in all of them is not checked.
const oldestCommonRange = `
  SELECT max(oldest)::text AS event_id
  FROM (SELECT min(from_id) AS oldest FROM sagapost.partitions GROUP BY table_name) AS of_table`

/** The first event id that all four growing tables still hold. */
export async function readFirstEventId(reader: SnapshotReader): Promise<string> {
  const [row] = await reader.query<{ event_id: string | null }>(oldestCommonRange, [])
  return row?.event_id ?? '0'
}
