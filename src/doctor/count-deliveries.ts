import type pg from 'pg'
import { inSnapshot } from './read-snapshot.js'

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

const countAll = `
  SELECT (SELECT count(*) FROM sagapost.events)::int AS events,
         (SELECT count(*) FROM sagapost.unrouted_events)::int
           + (SELECT count(*) FROM sagapost.set_aside_events)::int AS unrouted,
         count(*)::int AS accepted,
         count(*) FILTER (WHERE status = 'Completed')::int AS completed,
         count(*) FILTER (WHERE status = 'DeadLettered')::int AS "deadLettered",
         count(*) FILTER (WHERE status IN ('Pending', 'InProgress', 'PendingRetry'))::int AS open
  FROM sagapost.webhook_delivery_sagas`

/** Where everything stands, at one moment. */
export function countDeliveries(pool: pg.Pool): Promise<DeliveryCounts> {
  return inSnapshot(pool, async (reader) => {
    const [counts] = await reader.query<DeliveryCounts>(countAll, [])
    if (!counts) throw new Error('counting returned nothing')
    return counts
  })
}
