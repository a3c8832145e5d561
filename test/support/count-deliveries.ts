import type pg from 'pg'
import { FIRST_EVENT_ID, inEachSpan } from '../../src/database/index.js'
import { inSnapshot } from '../../src/doctor/read-snapshot.js'
import { readSpans } from '../../src/doctor/read-spans.js'

export interface DeliveryCounts {
  events: number
  /** Stored and not routed yet, or set aside. */
  unrouted: number
  /** Deliveries, requeued ones included: completed + deadLettered + open. */
  accepted: number
  completed: number
  deadLettered: number
  open: number
}

const countUnrouted = `
  SELECT (SELECT count(*) FROM sagapost.unrouted_events)::int
           + (SELECT count(*) FROM sagapost.set_aside_events)::int AS unrouted`

const countSpan = `
  SELECT (SELECT count(*) FROM sagapost.events WHERE id >= $1 AND id < $2)::int AS events,
         count(*)::int AS accepted,
         count(*) FILTER (WHERE status = 'Completed')::int AS completed,
         count(*) FILTER (WHERE status = 'DeadLettered')::int AS "deadLettered",
         count(*) FILTER (WHERE status IN ('Pending', 'InProgress', 'PendingRetry'))::int AS open
  FROM sagapost.webhook_delivery_sagas WHERE event_id >= $1 AND event_id < $2`

/** All counts at one moment. */
export function countDeliveries(pool: pg.Pool): Promise<DeliveryCounts> {
  return inSnapshot(pool, async (reader) => {
    const [waiting] = await reader.query<{ unrouted: number }>(countUnrouted, [])
    const sum = { events: 0, accepted: 0, completed: 0, deadLettered: 0, open: 0 }
    await inEachSpan(reader, await readSpans(reader, FIRST_EVENT_ID), async ({ from, to }) => {
      const [counts] = await reader.query<typeof sum>(countSpan, [from, to])
      for (const [name, count] of Object.entries(counts ?? {})) sum[name as keyof typeof sum] += count
    })
    return { ...sum, unrouted: waiting?.unrouted ?? 0 }
  })
}
