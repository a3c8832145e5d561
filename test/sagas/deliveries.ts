import type pg from 'pg'
import { routeEvents } from '../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import type { TestDatabase } from '../support/database.js'

type End = 'Completed' | 'DeadLettered'

/** The legal way to each end, as the orchestrator would take it. */
const ways: Record<End, readonly string[]> = {
  Completed: ['InProgress', 'Completed'],
  DeadLettered: ['InProgress', 'PendingRetry', 'DeadLettered'],
}

const moveOpen = `
  UPDATE sagapost.webhook_delivery_sagas SET status = $3::sagapost.delivery_status,
    final_error_code = CASE WHEN $3 = 'PendingRetry' THEN 'http_500' ELSE final_error_code END
  WHERE event_id = $1 AND ($2::bigint IS NULL OR id = $2) AND status NOT IN ('Completed', 'DeadLettered')`

/** Stands in for the router, the orchestrator and the workers, one step at a time. */
export function useDeliveries(database: TestDatabase) {
  const cache = createSubscriptionCache()
  return {
    /** Routes whatever is stored. */
    async route(): Promise<void> {
      while ((await routeEvents(database.as('router_worker'), cache, 100)).events.length > 0) {}
    },
    /** The event's deliveries that are open come to this end; or one of them. */
    async end(eventId: string, status: End, id: string | null = null): Promise<void> {
      for (const step of ways[status]) await database.pool.query(moveOpen, [eventId, id, step])
    },
    list: async (eventId: string): Promise<string[]> =>
      ids(
        database.pool.query(
          'SELECT id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 ORDER BY id',
          [eventId],
        ),
      ),
    /** Every dead letter of the event, as an operator would. */
    async requeue(eventId: string): Promise<void> {
      const letters = await ids(
        database.pool.query('SELECT id FROM sagapost.dead_letters WHERE event_id = $1', [eventId]),
      )
      for (const id of letters) {
        await database.as('dead_letter_operator').query('SELECT sagapost.requeue_dead_letter($1)', [id])
      }
    },
  }
}

async function ids(result: Promise<pg.QueryResult<{ id: string }>>): Promise<string[]> {
  return (await result).rows.map(({ id }) => id)
}
