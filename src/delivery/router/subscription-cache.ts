import type pg from 'pg'

// All that can get a saga, by subscriptions_pkey: an event that takes several transactions goes to them in this order.
const selectRoutes = `SELECT event_type, id FROM sagapost.subscriptions WHERE active AND verified ORDER BY id`

/**
 * The subscriptions of each event type, kept in memory and never stale [R5]: they belong to a version, which every
 * change of a subscription increments in its own transaction, and which the routing transaction compares.
 */
export interface SubscriptionCache {
  /**
   * The ids for each type, ascending, as of `version` or later; read again through the routing transaction when the
   * version has changed.
   */
  at(version: string, client: pg.PoolClient): Promise<ReadonlyMap<string, readonly string[]>>
}

export function createSubscriptionCache(): SubscriptionCache {
  let known: { version: string; routes: Map<string, string[]> } | undefined
  return {
    async at(version, client) {
      if (known?.version === version) return known.routes
      const { rows } = await client.query<{ event_type: string; id: string }>(selectRoutes)
      const routes = new Map<string, string[]>()
      for (const { event_type, id } of rows) {
        const ids = routes.get(event_type)
        if (ids) ids.push(id)
        else routes.set(event_type, [id])
      }
      known = { version, routes }
      return routes
    },
  }
}
