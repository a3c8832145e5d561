import type pg from 'pg'
import { type Finding, finding, fine } from './finding.js'

const AHEAD_S_MAX = 5
const DIFFERENCE_S_MAX = 30
const EVENTS_LOOKED_AT = 1_000

// From the ends of the partitions' events_pkey.
const selectNewest = `SELECT coalesce(max(id), 0)::text AS id FROM sagapost.events`

// By events_pkey, and the whole of a small table. What was committed before this statement cannot be from later.
const selectClock = `
  SELECT extract(epoch FROM max(noted.at) - sagapost.now())::float8 AS ahead_s,
         extract(epoch FROM pg_catalog.clock_timestamp())::float8 AS server_s
  FROM (SELECT created_at AS at FROM sagapost.events WHERE id > $1::bigint - $2::bigint
        UNION ALL SELECT greatest(started_at, seen_at) FROM sagapost.processes) AS noted`

/** All times are the database's; the requests are signed with the time of the worker's machine. */
export async function examineClock(pool: pg.Pool): Promise<Finding[]> {
  const newest = await pool.query<{ id: string }>(selectNewest)
  const askedAtMs = Date.now()
  const { rows } = await pool.query<{ ahead_s: number | null; server_s: number }>(selectClock, [
    newest.rows[0]?.id,
    EVENTS_LOOKED_AT,
  ])
  const middleS = (askedAtMs + Date.now()) / 2_000
  const { ahead_s: aheadS, server_s: serverS } = rows[0] ?? { ahead_s: null, server_s: middleS }
  const differenceS = serverS - middleS
  const found: Finding[] = []
  if ((aheadS ?? 0) > AHEAD_S_MAX) {
    found.push(
      finding(
        'clock',
        'clock_set_back',
        `the newest row is ${Math.round(aheadS ?? 0)} s ahead of the database's clock`,
      ),
    )
  }
  if (Math.abs(differenceS) > DIFFERENCE_S_MAX) {
    const way = differenceS > 0 ? 'ahead of' : 'behind'
    found.push(
      finding(
        'clock',
        'clock_differs',
        `the database's clock is ${Math.round(Math.abs(differenceS))} s ${way} this machine's`,
      ),
    )
  }
  return found.length > 0
    ? found
    : [fine('clock', "no row has a time in the future; the clock agrees with this machine's")]
}
