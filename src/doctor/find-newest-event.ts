import type pg from 'pg'
import { FIRST_EVENT_ID, readEventSpans } from '../database/index.js'

// From the ends of the partitions' events_pkey.
const selectNewest = `SELECT max(id)::text AS id FROM sagapost.events WHERE id >= $1 AND id < $2`

/** Its id, or 0. From the newest span of partitions back to the first that holds an event. */
export async function findNewestEvent(pool: pg.Pool): Promise<string> {
  for (const { from, to } of (await readEventSpans(pool)).reverse()) {
    const { rows } = await pool.query<{ id: string | null }>(selectNewest, [from, to])
    if (rows[0]?.id) return rows[0].id
  }
  return FIRST_EVENT_ID
}
