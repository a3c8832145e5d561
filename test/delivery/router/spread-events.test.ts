import { beforeEach, describe, expect, it } from 'vitest'
import { listSetAsideEvents, requeueEvents } from '../../../src/delivery/index.js'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { spreadEvents, takeLargeRow } from '../../../src/delivery/router/spread-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { checkInvariants } from '../../../src/doctor/index.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { outcomeOf } from '../../support/refusal.js'

const database = useDatabase()
/** More than four deliveries are routed in pieces. */
const MOST = 4

const cache = createSubscriptionCache()
const route = () => routeEvents(database.as('router_worker'), cache, 500, { deliveriesMax: MOST })
const spread = () => spreadEvents(database.as('router_worker'), cache, MOST)
/** Of the rules of routing: one test ends deliveries without jobs. */
const violations = async () => {
  const all = await checkInvariants(database.as('saga_readonly_role'))
  return all.filter(({ rules }) => rules.some((rule) => rule.startsWith('R')))
}

async function spreadAll(): Promise<number[]> {
  const deliveries = []
  for (let piece = await spread(); piece; piece = await spread()) deliveries.push(piece.deliveries)
  return deliveries
}

async function subscribe(type: string, count: number): Promise<string[]> {
  const ids = []
  for (let index = 0; index < count; index++) ids.push(await insertSubscription(database.pool, { type }))
  return ids
}

const activate = async (id: string | undefined, active: boolean) => {
  await database.pool.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [id, active])
  await database.pool.query('SELECT sagapost.open_routes()')
}

/** Publishes events in one statement, and so in one row. */
async function store(type: string, count: number): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO sagapost.events (event_type, payload, correlation_id)
     SELECT $1, '{}', 'c' || n FROM generate_series(1, $2::int) AS n RETURNING id`,
    [type, count],
  )
  return rows.map(({ id }) => id)
}

async function receiversOf(eventId: string | undefined): Promise<string[]> {
  const { rows } = await database.pool.query<{ subscription_id: string }>(
    'SELECT subscription_id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 ORDER BY subscription_id',
    [eventId],
  )
  return rows.map(({ subscription_id }) => subscription_id)
}

async function unrouted(): Promise<string[]> {
  const { rows } = await database.pool.query<{ event_id: string }>(
    'SELECT event_id FROM sagapost.unrouted_events ORDER BY event_id',
  )
  return rows.map(({ event_id }) => event_id)
}

beforeEach(async () => {
  await database.pool.query('TRUNCATE sagapost.event_routing_queue, sagapost.set_aside_events')
  await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE active')
})

describe('a batch', () => {
  it('[R1] makes no more deliveries than one transaction should, and leaves the rest in the queue', async () => {
    const subscriptions = await subscribe('spread.small', 3)
    const events = []
    for (let count = 0; count < 3; count++)
      events.push(await insertEvent(database.pool, { type: 'spread.small' }))
    for (const event of events) {
      expect(await route()).toMatchObject({ deliveries: 3, large: 0, more: event !== events.at(-1) })
      expect(await receiversOf(event)).toEqual(subscriptions)
    }
    expect(await unrouted()).toEqual([])
  })
})

describe('an event of many subscriptions', () => {
  it('[R1, R2, R3] is routed in several transactions, to each subscription once', async () => {
    const subscriptions = await subscribe('spread.many', 10)
    const event = await insertEvent(database.pool, { type: 'spread.many' })
    expect(await route()).toMatchObject({ events: [], deliveries: 0, large: 1 })
    expect(await spread()).toEqual({ events: [], deliveries: 4, refused: [] })
    expect(await receiversOf(event)).toEqual(subscriptions.slice(0, 4))
    expect(await unrouted()).toEqual([event])
    expect(await violations()).toEqual([])
    expect(await spread()).toMatchObject({ events: [], deliveries: 4 })
    expect(await spread()).toEqual({
      events: [expect.objectContaining({ id: event, subscriptions: 10 })],
      deliveries: 2,
      refused: [],
    })
    expect(await spread()).toBeNull()
    expect(await receiversOf(event)).toEqual(subscriptions)
    expect(await unrouted()).toEqual([])
  })

  it('[R1] does not delay the events after it, of its type or another', async () => {
    await subscribe('spread.passed', 9)
    await subscribe('spread.passing', 1)
    const large = await store('spread.passed', 2)
    await route()
    await spread()
    const small = await insertEvent(database.pool, { type: 'spread.passing' })
    expect(await route()).toMatchObject({ events: [{ id: small }], deliveries: 1, more: false })
    expect(await unrouted()).toEqual(large)
    await insertEvent(database.pool, { type: 'spread.passing' })
    expect(await spreadAll()).toEqual([4, 4, 4, 2])
  })

  it('[R1, R2] shares a row with others: each leaves the queue when its last delivery is made', async () => {
    const subscriptions = await subscribe('spread.row', 3)
    const events = await store('spread.row', 5)
    await route()
    const left = []
    for (let piece = await spread(); piece; piece = await spread()) left.push(await unrouted())
    expect(left).toEqual([events.slice(1), events.slice(2), events.slice(4), []])
    for (const event of events) expect(await receiversOf(event)).toEqual(subscriptions)
    const { rows } = await database.pool.query(
      `SELECT array_agg(DISTINCT correlation_id ORDER BY correlation_id) AS ids
       FROM sagapost.webhook_delivery_sagas WHERE event_id = ANY ($1)`,
      [events],
    )
    expect(rows[0].ids).toEqual(['c1', 'c2', 'c3', 'c4', 'c5'])
  })

  it('[R3] keeps its position and its deliveries together: what was not committed is repeated', async () => {
    const subscriptions = await subscribe('spread.crash', 6)
    const event = await insertEvent(database.pool, { type: 'spread.crash' })
    await route()
    await spread()
    await database.pool.query(
      'REVOKE UPDATE (last_subscription_id) ON sagapost.event_routing_queue FROM router_worker',
    )
    await insertSubscription(database.pool, { type: 'spread.crash' })
    await store('spread.crash', 1)
    await expect(spreadEvents(database.as('router_worker'), cache, 1)).rejects.toThrow('permission denied')
    await database.pool.query(
      'GRANT UPDATE (last_subscription_id) ON sagapost.event_routing_queue TO router_worker',
    )
    expect(await receiversOf(event)).toEqual(subscriptions.slice(0, 4))
    await spread()
    expect((await receiversOf(event)).slice(0, 6)).toEqual(subscriptions)
  })

  it('[R1, R3] is shared by routers: one that another router has locked is passed over', async () => {
    const subscriptions = await subscribe('spread.shared', 6)
    const first = await insertEvent(database.pool, { type: 'spread.shared' })
    const second = await insertEvent(database.pool, { type: 'spread.shared' })
    await route()
    const other = await database.as('router_worker').connect()
    try {
      await other.query('BEGIN')
      expect((await other.query(takeLargeRow)).rows).toMatchObject([{ event_ids: [first] }])
      expect(await withoutWaiting(database.pool, spread())).toMatchObject({ deliveries: 4 })
      expect(await withoutWaiting(database.pool, spread())).toMatchObject({ events: [{ id: second }] })
      expect(await withoutWaiting(database.pool, spread())).toBeNull()
    } finally {
      other.release(true)
    }
    await expect.poll(spread).not.toBeNull()
    await spreadAll()
    for (const event of [first, second]) expect(await receiversOf(event)).toEqual(subscriptions)
  })

  it('[R3, S3] that is queued a second time makes no second delivery', async () => {
    const subscriptions = await subscribe('spread.twice', 6)
    const event = await insertEvent(database.pool, { type: 'spread.twice' })
    await route()
    await spread()
    await database.pool.query(
      `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) VALUES ('spread.twice', ARRAY[$1::bigint])`,
      [event],
    )
    await route()
    expect(await spreadAll()).toEqual([2, 0, 0])
    expect(await receiversOf(event)).toEqual(subscriptions)
  })

  it('[G14] is open for a saga that waits for its deliveries, though all deliveries so far have ended', async () => {
    await subscribe('spread.awaited', 5)
    const event = await insertEvent(database.pool, { type: 'spread.awaited' })
    const standing = async () => {
      const { rows } = await database.pool.query('SELECT standing FROM sagapost.event_deliveries($1)', [
        event,
      ])
      return rows[0].standing
    }
    const complete = async () => {
      for (const status of ['InProgress', 'Completed']) {
        await database.pool.query(
          `UPDATE sagapost.webhook_delivery_sagas SET status = $2::sagapost.delivery_status, attempt_count = attempt_count + ($2 = 'Completed')::int
           WHERE event_id = $1 AND status <> 'Completed'`,
          [event, status],
        )
      }
    }
    await route()
    await spread()
    await complete()
    expect(await standing()).toBe('open')
    await spread()
    expect(await standing()).toBe('open')
    await complete()
    expect(await standing()).toBe('completed')
  })
})

describe('subscriptions that change while an event is routed', () => {
  it('[R5, U5] get it once if they are active when its position reaches them, and not at all otherwise', async () => {
    const type = 'spread.changing'
    const subscriptions = await subscribe(type, 12)
    await activate(subscriptions[1], false)
    const event = await insertEvent(database.pool, { type })
    await route()
    await spread()
    // Behind the place, one becomes active, and another is switched off and on again; before it, one is switched off, and another on again.
    await activate(subscriptions[1], true)
    await activate(subscriptions[2], false)
    await activate(subscriptions[2], true)
    await activate(subscriptions[6], false)
    await activate(subscriptions[11], false)
    await spread()
    await activate(subscriptions[11], true)
    const late = await insertSubscription(database.pool, { type })
    await spreadAll()
    const missed = [subscriptions[1], subscriptions[6]]
    expect(await receiversOf(event)).toEqual([...subscriptions.filter((id) => !missed.includes(id)), late])
    expect(await violations()).toEqual([])
  })

  it('[R5] all of them: the event is routed when none is left', async () => {
    const type = 'spread.none'
    const subscriptions = await subscribe(type, 6)
    const [first, second] = await store(type, 2)
    await route()
    await spread()
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE event_type = $1', [
      type,
    ])
    expect(await spread()).toMatchObject({ events: [{ id: first }, { id: second }], deliveries: 0 })
    expect(await unrouted()).toEqual([])
    expect(await receiversOf(first)).toEqual(subscriptions.slice(0, 4))
  })
})

describe('an event that is refused while it is routed in pieces', () => {
  const refuse = (condition: string) =>
    database.pool.query(
      `ALTER TABLE sagapost.webhook_delivery_sagas ADD CONSTRAINT out_of_order CHECK (NOT (${condition})) NOT VALID`,
    )
  const allow = () =>
    database.pool.query('ALTER TABLE sagapost.webhook_delivery_sagas DROP CONSTRAINT IF EXISTS out_of_order')

  it('[R1, R3] is set aside once, delays no other event, and reaches the remaining subscriptions when it is requeued', async () => {
    const type = 'spread.refused'
    const subscriptions = await subscribe(type, 6)
    const [first, second, third, fourth] = await store(type, 4)
    await route()
    await spread()
    try {
      // In its last piece, in its first one, which has no room for all of it, and in its last one, made with the next event's.
      await refuse(
        `event_id = ${first} OR (event_id, subscription_id) IN ((${second}, ${subscriptions[1]}), (${third}, ${subscriptions[5]}))`,
      )
      const refused = []
      for (let piece = await spread(); piece; piece = await spread()) {
        refused.push(...piece.refused.map(({ id }) => id))
      }
      expect(refused).toEqual([first, second, third])
    } finally {
      await allow()
    }
    expect(await receiversOf(first)).toEqual(subscriptions.slice(0, 4))
    expect(await receiversOf(second)).toEqual([])
    expect(await receiversOf(third)).toEqual(subscriptions.slice(0, 4))
    expect(await receiversOf(fourth)).toEqual(subscriptions)
    expect(await unrouted()).toEqual([])
    expect((await listSetAsideEvents(database.as('saga_readonly_role'))).data).toMatchObject([
      { eventId: third, correlationId: 'c3' },
      { eventId: second, correlationId: 'c2' },
      { eventId: first, correlationId: 'c1' },
    ])
    expect(await violations()).toEqual([])
    await requeueEvents(database.as('dead_letter_operator'))
    await route()
    await spreadAll()
    for (const event of [first, second, third]) expect(await receiversOf(event)).toEqual(subscriptions)
    expect(await violations()).toEqual([])
  })
})

describe('the position of a row', () => {
  it.each([
    ['in front, with a place', 'SET routed_events = 0, last_subscription_id = 0'],
    ['at the back, without one', 'SET id = id + (1::bigint << 52)'],
    ['half of a place', 'SET id = id + (1::bigint << 52), routed_events = 0'],
    ['beyond its events', 'SET id = id + (1::bigint << 52), routed_events = 2, last_subscription_id = 0'],
    ['before them', 'SET id = id + (1::bigint << 52), routed_events = -1, last_subscription_id = 0'],
  ])('[R1] is refused: %s', async (_, set) => {
    await store('spread.place', 2)
    const written = database.pool.query(`UPDATE sagapost.event_routing_queue ${set}`)
    expect(await outcomeOf(written)).toMatchObject({ constraint: 'event_routing_queue_pieces' })
  })
})
