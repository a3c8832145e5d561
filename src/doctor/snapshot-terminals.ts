import type pg from 'pg'
import { inEachSpan } from '../database/index.js'
import type { InvariantName } from './invariant.js'
import { inSnapshot, readFirstEventId, type SnapshotReader } from './read-snapshot.js'
import { readPages, readSpans } from './read-spans.js'
import { collectBreaches, type Violation } from './violation.js'

// Rows that may never change again, span by span of event ids, page by page.
const finalSagas = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.webhook_delivery_sagas AS final
  WHERE event_id >= $1 AND event_id < $2 AND status IN ('Completed', 'DeadLettered')`
const finishedJobs = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.webhook_delivery_jobs AS final
  WHERE event_id >= $1 AND event_id < $2 AND status IN ('Completed', 'Failed')`
const deadLetters = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.dead_letters AS final
  WHERE event_id >= $1 AND event_id < $2`
const events = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, id AS event_id, hashtextextended(final::text, 0) AS hash FROM sagapost.events AS final
  WHERE id >= $1 AND id < $2`

const tables = { delivery: finalSagas, job: finishedJobs, 'dead letter': deadLetters, event: events } as const

export interface TerminalSnapshot {
  firstEventId: bigint
  /** By `delivery 7`, `job 12`, …: the event's id and the row's hash. */
  rows: ReadonlyMap<string, { eventId: bigint; hash: string }>
}

interface HashRow {
  id: string
  event_id: string
  hash: string
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
  await inEachSpan(reader, await readSpans(reader, String(firstEventId)), async ({ from, to }) => {
    for (const [kind, sql] of Object.entries(tables)) {
      for await (const { id, event_id, hash } of readPages<HashRow>(reader, sql, { from, to })) {
        rows.set(`${kind} ${id}`, { eventId: BigInt(event_id), hash })
      }
    }
  })
  return { firstEventId, rows }
}

const finalRowsAreFrozen: InvariantName = {
  name: 'final_rows_are_frozen',
  rules: ['S11', 'J12', 'E2', 'D2'],
}

/** [S11, J12, E2, D2] What was final in `before` and is changed or gone in `after`, but for dropped partitions. */
export function compareTerminals(before: TerminalSnapshot, after: TerminalSnapshot): Violation[] {
  const breaches = collectBreaches(finalRowsAreFrozen)
  for (const [id, { eventId, hash }] of before.rows) {
    if (eventId < after.firstEventId) continue
    const now = after.rows.get(id)
    if (now === undefined) breaches.add(id, 'was final and is gone')
    else if (now.hash !== hash) breaches.add(id, 'was final and has changed')
  }
  return breaches.violations()
}
