import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { routeEvents, takeEvents } from '../../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { outcomeOf } from '../../support/refusal.js'

const database = useDatabase()
/** More than everything that a test makes. */
const ALL = 1000
const types = ['queue.a', 'queue.b', 'queue.c']

beforeAll(async () => {
  for (const type of types) await insertSubscription(database.pool, { type })
})
beforeEach(async () => {
  while ((await route()).more);
  expect(await queued()).toEqual([])
})

const route = (batchMax = ALL) =>
  routeEvents(database.as('router_worker'), createSubscriptionCache(), batchMax)

interface Stored {
  id: string
  event_type: string
  correlation_id: string | null
}

/** Publishes events in one statement, their types and correlation ids in turn. */
async function store(
  count: number,
  { of = ['queue.a'], correlated = false }: { of?: string[]; correlated?: boolean } = {},
): Promise<Stored[]> {
  const { rows } = await database.pool.query<Stored>(
    `INSERT INTO sagapost.events (event_type, payload, correlation_id)
     SELECT ($2::text[])[1 + n % cardinality($2::text[])], '{}', CASE WHEN $3 AND n % 3 = 0 THEN 'c' || n END
     FROM generate_series(1, $1) AS n RETURNING id, event_type, correlation_id`,
    [count, of, correlated],
  )
  return rows
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort()

async function queued(): Promise<[string, number][]> {
  const { rows } = await database.pool.query(
    'SELECT event_type, cardinality(event_ids) AS size FROM sagapost.event_routing_queue ORDER BY id',
  )
  return rows.map(({ event_type, size }) => [event_type, size])
}

/** What the deliveries of the events say of them. */
async function delivered(events: readonly Stored[]): Promise<Stored[]> {
  const { rows } = await database.pool.query<Stored>(
    `SELECT event_id AS id, event_type, correlation_id
     FROM sagapost.webhook_delivery_sagas AS saga
     JOIN sagapost.subscriptions AS subscription ON subscription.id = saga.subscription_id
     WHERE event_id = ANY ($1) ORDER BY event_id`,
    [idsOf(events)],
  )
  return rows
}

describe('the routing queue', () => {
  it('[R1] events of one statement fill rows of at most 50, and each is routed', async () => {
    const events = await store(120)
    expect(await queued()).toEqual([
      ['queue.a', 50],
      ['queue.a', 50],
      ['queue.a', 20],
    ])
    const routed = await route()
    expect(idsOf(routed.events)).toEqual(idsOf(events))
    expect(routed.deliveries).toBe(120)
    expect(await queued()).toEqual([])
  })

  it('[R1, R2] events of many types in one statement are all routed, each by its type and with its correlation id', async () => {
    const all = [...types, 'queue.nobody']
    const events = await store(200, { of: all, correlated: true })
    expect((await queued()).sort()).toEqual(all.map((type) => [type, 50]))
    const { rows } = await database.pool.query(
      'SELECT event_id AS id, event_type, correlation_id FROM sagapost.unrouted_events ORDER BY event_id',
    )
    expect(rows).toEqual(events)
    const routed = await route()
    expect(routed.events).toHaveLength(200)
    expect(await delivered(events)).toEqual(events.filter(({ event_type }) => event_type !== 'queue.nobody'))
    expect(await queued()).toEqual([])
  })

  it('[R1] a few events of other types overtake a burst at the head of the queue', async () => {
    const pass = () =>
      routeEvents(database.as('router_worker'), createSubscriptionCache(), 200, { passing: true })
    const burst = await store(200, { of: ['queue.a'] })
    expect(await pass()).toMatchObject({ events: [] })
    const second = await store(200, { of: ['queue.b'] })
    const lone = await store(1, { of: ['queue.c'] })
    // Rows of 50: three of the second burst begin within the bytes of a turn, and the lone event goes before them.
    const { events } = await pass()
    expect(idsOf(events).sort()).toEqual(idsOf([...second.slice(0, 150), ...lone]).sort())
    await route()
    expect(await delivered([...burst, ...second, ...lone])).toHaveLength(401)
    expect(await queued()).toEqual([])
  })

  it('[R3, S3] an entry that is queued again by hand, twice, makes no second delivery', async () => {
    const events = await store(3)
    await route()
    for (let time = 0; time < 2; time++) {
      await database.pool.query(
        `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) SELECT 'queue.a', $1 FROM generate_series(1, 2)`,
        [idsOf(events)],
      )
      expect((await route()).deliveries).toBe(0)
      expect(await delivered(events)).toEqual(events)
      expect(await queued()).toEqual([])
    }
  })

  it('[R1] a row that is not a list of events cannot be written', async () => {
    for (const [eventIds, correlationIds] of [
      ['{}', null],
      ['{1,NULL}', null],
      ['{{1,2}}', null],
      ['{1,2}', '{a}'],
    ]) {
      const written = database.pool.query(
        `INSERT INTO sagapost.event_routing_queue (event_type, event_ids, correlation_ids) VALUES ('queue.a', $1, $2)`,
        [eventIds, correlationIds],
      )
      expect(await outcomeOf(written)).toMatchObject({ constraint: 'event_routing_queue_entries' })
    }
  })

  it('[R1, R3] a router passes over rows that another router has locked, and takes the next', async () => {
    const others = await store(2)
    const mine = await store(2)
    const other = await database.as('router_worker').connect()
    try {
      await other.query('BEGIN')
      expect((await other.query(takeEvents, [2])).rows).toHaveLength(1)
      expect(idsOf((await withoutWaiting(database.pool, route())).events)).toEqual(idsOf(mine))
    } finally {
      other.release(true)
    }
    await expect.poll(async () => idsOf((await route()).events)).toEqual(idsOf(others))
  })

  it('[R1, R3] a mixture of single and full rows is cut to a batch, and nothing is lost', async () => {
    const events = []
    for (const count of [1, 50, 1, 50, 1]) events.push(...(await store(count)))
    const batches = []
    do batches.push(await route(60))
    while (batches.at(-1)?.more)
    // The oldest row says how many rows are taken: 60 single ones, or one that is full.
    expect(batches.map((batch) => batch.events.length)).toEqual([52, 50, 1])
    expect(idsOf(batches.flatMap((batch) => batch.events))).toEqual(idsOf(events))
    expect(await delivered(events)).toHaveLength(103)
    expect(await queued()).toEqual([])
  })

  it('[R1] a row that is larger than the batch is taken whole', async () => {
    const events = await store(30)
    expect(idsOf((await route(10)).events)).toEqual(idsOf(events))
  })
})
