import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { spreadEvents } from '../../../src/delivery/router/spread-events.js'
import { startRouter } from '../../../src/delivery/router/start-router.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { createWakeups } from '../../../src/loop/index.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'

const database = useDatabase()
const HALF_A_MINUTE_MS = 30_000

afterEach(() => void vi.restoreAllMocks())

function start() {
  const routed = { events: 0, deliveries: 0 }
  const loop = startRouter({
    pool: database.as('router_worker'),
    wakeups: createWakeups(),
    log: pino({ level: 'silent' }),
    metrics: {
      eventsRouted(events, deliveries) {
        routed.events += events
        routed.deliveries += deliveries
      },
      eventsSetAside() {},
      loopFailed() {},
    },
    counter: { count() {} },
  })
  return { loop, routed }
}

/** More than are routed in one transaction. */
const MANY = 5_001

async function subscribeMany(type: string): Promise<void> {
  await database.pool.query(
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
     SELECT $1, 'https://receiver.example/' || n, true, true FROM generate_series(1, $2::int) AS n`,
    [type, MANY],
  )
}

describe('the router', () => {
  it('[R1] polls often while there are events, and less often at first and after half a minute without one', async () => {
    const realNow = performance.now.bind(performance)
    let laterMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    // The pauses of the loop; its rounds are 10 ms apart, and the connections' own time-outs are longer.
    const pauses = () => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms >= 100 && ms <= 1_000)
    const { loop, routed } = start()
    try {
      await expect.poll(() => pauses().slice(0, 2)).toEqual([500, 500])
      await database.pool.query(`SELECT sagapost.publish('quiet.over', '{}')`)
      await expect.poll(() => routed.events).toBe(1)
      await expect.poll(() => pauses().slice(-2)).toEqual([200, 200])
      laterMs = HALF_A_MINUTE_MS
      await expect.poll(() => pauses().slice(-2)).toEqual([500, 500])
    } finally {
      await loop.stop()
    }
  })

  it('[R1, R2] routes events of thousands of subscriptions in pieces, with others between them', async () => {
    await subscribeMany('router.large')
    await insertSubscription(database.pool, { type: 'router.lone' })
    const large = await Promise.all([1, 2, 3].map(() => insertEvent(database.pool, { type: 'router.large' })))
    const { loop, routed } = start()
    try {
      await expect.poll(() => routed.deliveries).toBeGreaterThan(0)
      const lone = await insertEvent(database.pool, { type: 'router.lone' })
      await expect.poll(() => routed, { timeout: 20_000 }).toEqual({ events: 4, deliveries: 3 * MANY + 1 })
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS deliveries, count(DISTINCT (event_id, subscription_id))::int AS pairs
         FROM sagapost.webhook_delivery_sagas WHERE event_id = ANY ($1)`,
        [[...large, lone]],
      )
      expect(rows).toEqual([{ deliveries: 3 * MANY + 1, pairs: 3 * MANY + 1 }])
    } finally {
      await loop.stop()
    }
  })

  it('[R1] a burst does not delay events of other types', async () => {
    const burst = await insertSubscription(database.pool, { type: 'router.burst' })
    const other = await insertSubscription(database.pool, { type: 'router.other' })
    await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload) SELECT 'router.burst', '{}' FROM generate_series(1, 10_000)`,
    )
    await insertEvent(database.pool, { type: 'router.other' })
    const { loop, routed } = start()
    try {
      await expect.poll(() => routed.events, { timeout: 20_000 }).toBe(10_001)
      const { rows } = await database.pool.query(
        `SELECT count(*) FILTER (WHERE saga.id > other.id)::int AS after FROM sagapost.webhook_delivery_sagas AS saga
         CROSS JOIN (SELECT id FROM sagapost.webhook_delivery_sagas WHERE subscription_id = $2) AS other
         WHERE saga.subscription_id = $1`,
        [burst, other],
      )
      expect(rows[0].after).toBeGreaterThanOrEqual(500)
    } finally {
      await loop.stop()
    }
  })

  it('[R1] continues an event that another router has left half-way', async () => {
    await subscribeMany('router.left')
    await insertEvent(database.pool, { type: 'router.left' })
    const cache = createSubscriptionCache()
    await routeEvents(database.as('router_worker'), cache, 500)
    expect(await spreadEvents(database.as('router_worker'), cache)).toMatchObject({ events: [] })
    const { loop, routed } = start()
    try {
      await expect.poll(() => routed.events, { timeout: 20_000 }).toBe(1)
      const { rowCount } = await database.pool.query('SELECT FROM sagapost.event_routing_queue')
      expect(rowCount).toBe(0)
    } finally {
      await loop.stop()
    }
  })
})
