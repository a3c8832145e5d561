import { beforeEach, describe, expect, it } from 'vitest'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'

const database = useDatabase()
const route = async (cache = createSubscriptionCache(), batchMax = 100) => {
  const { events, deliveries } = await routeEvents(database.as('router_worker'), cache, batchMax)
  return { events: events.length, deliveries }
}

beforeEach(async () => {
  while ((await route()).events > 0);
})

async function routesOf(eventId: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    `SELECT subscription_id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 ORDER BY 1`,
    [eventId],
  )
  return rows.map(({ subscription_id }) => subscription_id)
}

describe('routeEvents', () => {
  it('[R2, U5] makes one delivery for each active and verified subscription of the type, and for no other', async () => {
    const type = 'route.match'
    const good = [
      await insertSubscription(database.pool, { type }),
      await insertSubscription(database.pool, { type }),
    ]
    await insertSubscription(database.pool, { type, active: false })
    await insertSubscription(database.pool, { type, active: false, verified: false })
    await insertSubscription(database.pool, { type: 'route.matc' })
    const event = await insertEvent(database.pool, { type })
    expect(await route()).toEqual({ events: 1, deliveries: 2 })
    expect(await routesOf(event)).toEqual(good)
    expect(await route()).toEqual({ events: 0, deliveries: 0 })
  })

  it('[R3, S3] routing again makes no second delivery', async () => {
    const type = 'route.again'
    await insertSubscription(database.pool, { type })
    const event = await insertEvent(database.pool, { type })
    await route()
    await database.pool.query(
      `INSERT INTO sagapost.event_routing_queue (event_ids, event_type) VALUES ($1, $2)`,
      [[event], type],
    )
    expect(await route()).toEqual({ events: 1, deliveries: 0 })
    expect(await routesOf(event)).toHaveLength(1)
  })

  it('[R5] a subscription that commits just before the routing transaction gets its delivery, with a warm cache', async () => {
    const type = 'route.fresh'
    const cache = createSubscriptionCache()
    const first = await insertSubscription(database.pool, { type })
    await insertEvent(database.pool, { type })
    await route(cache)
    const event = await insertEvent(database.pool, { type })
    const second = await insertSubscription(database.pool, { type })
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [first])
    await route(cache)
    expect(await routesOf(event)).toEqual([second])
  })

  it('[R5] the cache queries the database once for each version', async () => {
    const type = 'route.cached'
    const id = await insertSubscription(database.pool, { type })
    const cache = createSubscriptionCache()
    let asked = 0
    const client = {
      query: (sql: string) => {
        asked++
        return database.as('router_worker').query(sql)
      },
    } as never
    for (const [version, times] of [
      ['7', 1],
      ['7', 1],
      ['8', 2],
      ['8', 2],
    ] as const) {
      expect((await cache.at(version, client)).get(type)).toEqual([id])
      expect(asked).toBe(times)
    }
  })

  it('[R1] an event that commits late, with an earlier id, is routed', async () => {
    const type = 'route.late'
    await insertSubscription(database.pool, { type })
    const late = await database.pool.connect()
    await late.query('BEGIN')
    const lateId = await insertEvent(late, { type })
    const earlyId = await insertEvent(database.pool, { type })
    expect(await route()).toEqual({ events: 1, deliveries: 1 })
    await late.query('COMMIT')
    late.release()
    expect(await route()).toEqual({ events: 1, deliveries: 1 })
    expect(await routesOf(lateId)).toHaveLength(1)
    expect(await routesOf(earlyId)).toHaveLength(1)
  })

  it('[R1, R3] concurrent routers share the queue: every event is routed once', async () => {
    const type = 'route.shared'
    await insertSubscription(database.pool, { type })
    await insertSubscription(database.pool, { type })
    await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload) SELECT $1, '{}' FROM generate_series(1, 500)`,
      [type],
    )
    const drain = async () => {
      const cache = createSubscriptionCache()
      let events = 0
      for (;;) {
        const batch = await route(cache, 20)
        events += batch.events
        const { rows } = await database.pool.query('SELECT FROM sagapost.event_routing_queue LIMIT 1')
        if (rows.length === 0) return events
      }
    }
    const counts = await Promise.all([drain(), drain(), drain()])
    expect(counts.reduce((a, b) => a + b)).toBe(500)
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS sagas, count(DISTINCT event_id)::int AS events FROM sagapost.webhook_delivery_sagas
       WHERE event_id IN (SELECT id FROM sagapost.events WHERE event_type = $1)`,
      [type],
    )
    expect(rows).toEqual([{ sagas: 1000, events: 500 }])
  })

  it('[R3] a batch that fails leaves its events in the queue', async () => {
    const type = 'route.failed'
    await insertSubscription(database.pool, { type })
    await insertEvent(database.pool, { type })
    await database.pool.query(
      'REVOKE INSERT (event_id) ON sagapost.webhook_delivery_sagas FROM router_worker',
    )
    await expect(route()).rejects.toThrow('permission denied')
    await database.pool.query('GRANT INSERT (event_id) ON sagapost.webhook_delivery_sagas TO router_worker')
    expect(await route()).toEqual({ events: 1, deliveries: 1 })
  })
})
