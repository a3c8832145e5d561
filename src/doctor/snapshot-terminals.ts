import type pg from 'pg'
import { inSnapshot, readFirstEventId, type SnapshotReader } from './read-snapshot.js'
import { collectBreaches, type Violation } from './violation.js'

const ROWS_PER_PAGE = 20_000

// Rows that may never change again, by primary key, page by page.
const finalSagas = `
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.webhook_delivery_sagas AS final
  WHERE id > $1 AND status IN ('Completed', 'DeadLettered') ORDER BY id LIMIT $2`
const finishedJobs = `
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.webhook_delivery_jobs AS final
  WHERE id > $1 AND status IN ('Completed', 'Failed') ORDER BY id LIMIT $2`
const deadLetters = `
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.dead_letters AS final
  WHERE id > $1 ORDER BY id LIMIT $2`
const events = `
  SELECT id, id AS event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.events AS final
  WHERE id > $1 ORDER BY id LIMIT $2`

const tables = { delivery: finalSagas, job: finishedJobs, 'dead letter': deadLetters, event: events } as const

export interface TerminalSnapshot {
  firstEventId: bigint
  /** By `delivery 7`, `job 12`, …: the event's id and the row's hash. */
  rows: ReadonlyMap<string, { eventId: bigint; hash: string }>
}

/**
 * Hashes of all rows that are final now: Completed and DeadLettered deliveries, finished jobs, dead letters, events.
 * Keeps some 150 bytes for each of them, never a payload.
 */
export function snapshotTerminals(pool: pg.Pool): Promise<TerminalSnapshot> {
  return inSnapshot(pool, readTerminals)
}

export async function readTerminals(reader: SnapshotReader): Promise<TerminalSnapshot> {
  const firstEventId = BigInt(await readFirstEventId(reader))
  const rows = new Map<string, { eventId: bigint; hash: string }>()
  for (const [kind, sql] of Object.entries(tables)) {
    let after = '0'
    for (let more = true; more; ) {
      const page = await reader.query<{ id: string; event_id: string; hash: string }>(sql, [
        after,
        ROWS_PER_PAGE,
      ])
      for (const { id, event_id, hash } of page) {
        rows.set(`${kind} ${id}`, { eventId: BigInt(event_id), hash })
        after = id
      }
      more = page.length === ROWS_PER_PAGE
    }
  }
  return { firstEventId, rows }
}

/** [S11, J12, E2, D2] What was final in `before` and is changed or gone in `after`, but for dropped partitions. */
export function compareTerminals(before: TerminalSnapshot, after: TerminalSnapshot): Violation[] {
  const breaches = collectBreaches({ name: 'final_rows_are_frozen', rules: ['S11', 'J12', 'E2', 'D2'] })
  for (const [id, { eventId, hash }] of before.rows) {
    if (eventId < after.firstEventId) continue
    const now = after.rows.get(id)
    if (now === undefined) breaches.add(id, 'was final and is gone')
    else if (now.hash !== hash) breaches.add(id, 'was final and has changed')
  }
  return breaches.violations()
}
