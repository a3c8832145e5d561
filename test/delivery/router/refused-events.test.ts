import { beforeEach, describe, expect, it } from 'vitest'
import { listSetAsideEvents, requeueEvents } from '../../../src/delivery/index.js'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import { checkInvariants } from '../../../src/doctor/index.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'

const database = useDatabase()
const ALL = 500

const route = (batchMax = ALL) =>
  routeEvents(database.as('router_worker'), createSubscriptionCache(), batchMax)

/** Publishes events in one statement, and so in rows of 50. */
async function store(type: string, count: number): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO sagapost.events (event_type, payload, correlation_id)
     SELECT $1, '{}', 'c' || n FROM generate_series(1, $2::int) AS n RETURNING id`,
    [type, count],
  )
  return rows.map(({ id }) => id)
}

async function routedOf(eventIds: readonly string[]): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT event_id FROM sagapost.webhook_delivery_sagas WHERE event_id = ANY ($1) ORDER BY event_id',
    [eventIds],
  )
  return rows.map(({ event_id }) => event_id)
}

const setAside = async () => (await listSetAsideEvents(database.as('saga_readonly_role'))).data
const queued = async () => (await database.pool.query('SELECT FROM sagapost.event_routing_queue')).rowCount
const requeue = () => requeueEvents(database.as('dead_letter_operator'))
const violations = () => checkInvariants(database.as('saga_readonly_role'))

/** As a rule would that these events break, and no other. */
const refuse = (eventIds: readonly string[]) =>
  database.pool.query(
    `ALTER TABLE sagapost.webhook_delivery_sagas ADD CONSTRAINT out_of_order CHECK (event_id NOT IN (${eventIds.join()}))`,
  )
const allow = () =>
  database.pool.query('ALTER TABLE sagapost.webhook_delivery_sagas DROP CONSTRAINT IF EXISTS out_of_order')

beforeEach(async () => {
  await allow()
  await database.pool.query('TRUNCATE sagapost.event_routing_queue, sagapost.set_aside_events')
  await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE active')
})

describe('events that the database refuses to route', () => {
  it('[R1] are set aside with their reason, and every other event is routed, even from the same row', async () => {
    const type = 'refused.some'
    await insertSubscription(database.pool, { type })
    const events = [...(await store(type, 120)), await insertEvent(database.pool, { type })]
    const bad = [events[3], events[60], events[61]] as string[]
    await refuse(bad)
    const { events: routed, deliveries, refused } = await route()
    expect(deliveries).toBe(118)
    expect(routed.map(({ id }) => id)).toEqual(events.filter((id) => !bad.includes(id)))
    expect(refused.map(({ id }) => id)).toEqual(bad)
    expect(await routedOf(events)).toEqual(events.filter((id) => !bad.includes(id)))
    expect(await queued()).toBe(0)
    expect(await setAside()).toEqual(
      bad.toReversed().map((eventId) => ({
        eventId,
        type,
        correlationId: `c${events.indexOf(eventId) + 1}`,
        errorCode: '23514',
        reason: expect.stringContaining('"out_of_order"'),
        setAsideAt: expect.any(Date),
      })),
    )
    expect(await violations()).toEqual([])
  })

  it('[R1] an event without a partition does not delay the events after it', async () => {
    const type = 'refused.partition'
    await insertSubscription(database.pool, { type })
    const nowhere = '987654321'
    await database.pool.query(
      `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) VALUES ($1, ARRAY[$2::bigint])`,
      [type, nowhere],
    )
    const after = await insertEvent(database.pool, { type })
    await route(1)
    await route(1)
    expect(await routedOf([after])).toEqual([after])
    expect(await setAside()).toEqual([
      expect.objectContaining({ eventId: nowhere, errorCode: 'partition_missing' }),
    ])
    // There is nothing to deliver any more.
    expect(await requeue()).toEqual({ setAside: 0, gone: 1, lost: 0 })
    expect(await setAside()).toEqual([])
  })

  it('[R1, R3] are routed when an operator requeues them, and refused again while the cause persists', async () => {
    const type = 'refused.again'
    await insertSubscription(database.pool, { type })
    const events = await store(type, 4)
    const bad = events.slice(1, 3)
    await refuse(bad)
    for (let time = 0; time < 2; time++) {
      await route()
      expect(await routedOf(events)).toEqual([events[0], events[3]])
      expect(await setAside()).toHaveLength(2)
      if (time === 0) expect(await requeue()).toEqual({ setAside: 2, gone: 0, lost: 0 })
    }
    await allow()
    expect(await requeue()).toEqual({ setAside: 2, gone: 0, lost: 0 })
    expect(await violations()).toEqual([])
    expect(await route()).toMatchObject({ deliveries: 2, refused: [] })
    expect(await routedOf(events)).toEqual(events)
    const { rows } = await database.pool.query(
      'SELECT correlation_id FROM sagapost.webhook_delivery_sagas WHERE event_id = ANY ($1) ORDER BY event_id',
      [events],
    )
    expect(rows.map(({ correlation_id }) => correlation_id)).toEqual(['c1', 'c2', 'c3', 'c4'])
    expect(await requeue()).toEqual({ setAside: 0, gone: 0, lost: 0 })
  })

  it('[R1, G14] are open for a saga that waits for their deliveries', async () => {
    const type = 'refused.awaited'
    await insertSubscription(database.pool, { type })
    const event = await insertEvent(database.pool, { type })
    const standing = async () => {
      const { rows } = await database.pool.query('SELECT standing FROM sagapost.event_deliveries($1)', [
        event,
      ])
      return rows[0].standing
    }
    await refuse([event])
    await route()
    expect(await setAside()).toHaveLength(1)
    expect(await standing()).toBe('open')
    await requeue()
    expect(await standing()).toBe('open')
  })

  it('[R1] all events of a batch', async () => {
    const type = 'refused.all'
    await insertSubscription(database.pool, { type })
    const events = await store(type, 70)
    await refuse(events)
    expect(await route()).toMatchObject({ events: [], deliveries: 0, refused: { length: 70 } })
    expect(await setAside()).toHaveLength(50)
    expect(await queued()).toBe(0)
  })

  it('[R1, R3] an event that is queued twice is set aside once', async () => {
    const type = 'refused.twice'
    await insertSubscription(database.pool, { type })
    const event = await insertEvent(database.pool, { type })
    await database.pool.query(
      `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) VALUES ($1, ARRAY[$2::bigint, $2])`,
      [type, event],
    )
    await refuse([event])
    await route()
    expect(await setAside()).toHaveLength(1)
    expect(await queued()).toBe(0)
  })
})

describe('errors that are not refusals', () => {
  it.each([
    ['a full disk', '53100'],
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['a lock that was not had in time', '55P03'],
    ['a statement that was cancelled', '57014'],
    ['a database that only reads', '25006'],
    ['a file that cannot be read', '58030'],
  ])('[R1] %s leaves the batch in the queue, and sets nothing aside', async (_, code) => {
    const type = 'refused.not'
    await insertSubscription(database.pool, { type })
    const event = await insertEvent(database.pool, { type })
    await database.pool.query(`
      CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '${code}'; END $$;
      CREATE TRIGGER failing BEFORE INSERT ON sagapost.webhook_delivery_sagas
        FOR EACH ROW EXECUTE FUNCTION public.fail()`)
    try {
      await expect(route()).rejects.toMatchObject({ code })
      expect(await queued()).toBe(1)
      expect(await setAside()).toEqual([])
    } finally {
      await database.pool.query('DROP TRIGGER failing ON sagapost.webhook_delivery_sagas')
    }
    await route()
    expect(await routedOf([event])).toEqual([event])
  })
})
