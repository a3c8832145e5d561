import { inEachSpan } from '../database/index.js'
import type { InvariantName } from './invariant.js'
import { readFirstEventId, type SnapshotReader } from './read-snapshot.js'
import { readSpans } from './read-spans.js'
import { collectBreaches, type Violation } from './violation.js'

/** A saga's entries and their events are written by one statement. */
export const publishedSagaHasItsEvents: InvariantName = {
  name: 'published_saga_has_its_events',
  rules: ['G6'],
}

const selectPublishing = `
  SELECT id, event_count AS entries FROM sagapost.saga_instances WHERE publishes AND event_count > 0 ORDER BY id`

// The whole span: no index holds correlation ids.
const countStored = `
  SELECT correlation_id AS id, count(*)::int AS stored FROM sagapost.events
  WHERE id >= $1 AND id < $2 AND event_type LIKE 'saga.%' AND correlation_id IS NOT NULL
  GROUP BY correlation_id`

/**
 * A saga's events may lie in several spans: they are counted here, with some 100 bytes for each saga that publishes.
 * Where retention has taken events, nothing can be said.
 */
export async function findUnpublishedHistories(reader: SnapshotReader): Promise<Violation[]> {
  const firstEventId = await readFirstEventId(reader)
  if (BigInt(firstEventId) > 1n) return []
  const publishing = await reader.query<{ id: string; entries: number }>(selectPublishing, [])
  if (publishing.length === 0) return []
  const storedById = new Map<string, number>()
  await inEachSpan(reader, await readSpans(reader, firstEventId), async ({ from, to }) => {
    for (const { id, stored } of await reader.query<{ id: string; stored: number }>(countStored, [
      from,
      to,
    ])) {
      storedById.set(id, (storedById.get(id) ?? 0) + stored)
    }
  })
  const breaches = collectBreaches(publishedSagaHasItsEvents)
  for (const { id, entries } of publishing) {
    const stored = storedById.get(id) ?? 0
    if (stored < entries) breaches.add(id, `${entries} entries in its history, and ${stored} events of them`)
  }
  return breaches.violations()
}
