import { beforeEach, describe, expect, it } from 'vitest'
import { listSetAsideEvents } from '../../../src/delivery/index.js'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { spreadEvents } from '../../../src/delivery/router/spread-events.js'
import {
  createSubscriptionCache,
  type SubscriptionCache,
} from '../../../src/delivery/router/subscription-cache.js'
import { checkInvariants } from '../../../src/doctor/index.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'
import { countLockWaiters } from '../../support/lock-waiters.js'

const database = useDatabase()
const router = () => database.as('router_worker')

/** Runs `change` whenever the router has read the subscriptions, before it makes deliveries. */
const changedAfterRead = (change: () => Promise<unknown>): SubscriptionCache => {
  const cache = createSubscriptionCache()
  return {
    async at(version, client) {
      const routes = await cache.at(version, client)
      await change()
      return routes
    },
  }
}

const change = (id: string | undefined, assignments: string) =>
  database.pool.query(
    `UPDATE sagapost.subscriptions SET ${assignments} WHERE id = $1 AND deleted_at IS NULL`,
    [id],
  )

async function receiversOf(eventId: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT subscription_id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 ORDER BY subscription_id',
    [eventId],
  )
  return rows.map(({ subscription_id }) => subscription_id)
}

const setAside = async () => (await listSetAsideEvents(database.as('saga_readonly_role'))).data
const queued = async () => (await database.pool.query('SELECT FROM sagapost.event_routing_queue')).rowCount

async function subscribe(type: string, count: number): Promise<string[]> {
  const ids = []
  for (let index = 0; index < count; index++) ids.push(await insertSubscription(database.pool, { type }))
  return ids
}

beforeEach(async () => {
  await database.pool.query('TRUNCATE sagapost.event_routing_queue, sagapost.set_aside_events')
})

describe('a subscription that changes after the router has read it', () => {
  it.each([
    { what: 'switched off', assignments: 'active = false' },
    { what: 'deleted', assignments: 'active = false, deleted_at = sagapost.now()' },
    { what: 'given another URL', assignments: `callback_url = 'https://other.example/'` },
    { what: 'given another type', assignments: `event_type = 'switch.other'` },
  ])('[U5, R1] and is $what gets nothing, and the others get their events', async ({ what, assignments }) => {
    const type = `switch.${what.replaceAll(' ', '-')}`
    const [changed, ...others] = await subscribe(type, 3)
    const events = [await insertEvent(database.pool, { type }), await insertEvent(database.pool, { type })]
    const cache = changedAfterRead(() => change(changed, assignments))
    expect(await routeEvents(router(), cache, 500)).toMatchObject({ deliveries: 4, refused: [] })
    for (const event of events) expect(await receiversOf(event)).toEqual(others)
    expect(await setAside()).toEqual([])
    expect(await queued()).toBe(0)
    expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])
  })

  it('[U5, R1] sets no event aside, though one is deactivated in each of the router’s tries', async () => {
    const type = 'switch.each-try'
    const ids = await subscribe(type, 8)
    const left = [...ids]
    const event = await insertEvent(database.pool, { type })
    const cache = changedAfterRead(() => change(left.shift(), 'active = false'))
    expect(await routeEvents(router(), cache, 500)).toMatchObject({ refused: [] })
    expect(await receiversOf(event)).toEqual(left)
    expect(left.length).toBeLessThan(ids.length - 1)
    expect(await setAside()).toEqual([])
  })

  it('[U5, R1] causes no refusal when it changes while its delivery is being inserted', async () => {
    const type = 'switch.inserting'
    const [id] = await subscribe(type, 1)
    const event = await insertEvent(database.pool, { type })
    await database.pool.query(`
      CREATE FUNCTION public.pause() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(45); RETURN NEW; END $$;
      CREATE TRIGGER pausing BEFORE INSERT ON sagapost.webhook_delivery_sagas
        FOR EACH ROW EXECUTE FUNCTION public.pause()`)
    const holder = await database.pool.connect()
    try {
      await holder.query('SELECT pg_advisory_lock(45)')
      const routing = routeEvents(router(), createSubscriptionCache(), 500)
      await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
      await change(id, 'active = false')
      await holder.query('SELECT pg_advisory_unlock(45)')
      // As if it had been routed before: what is open of the subscription is held from then on.
      expect(await routing).toMatchObject({ deliveries: 1, refused: [] })
    } finally {
      holder.release(true)
      await database.pool.query('DROP TRIGGER pausing ON sagapost.webhook_delivery_sagas')
    }
    expect(await receiversOf(event)).toEqual([id])
  })

  it('[U5, R1] and is deactivated gets nothing of an event that is routed in pieces', async () => {
    const type = 'switch.pieces'
    const ids = await subscribe(type, 7)
    const event = await insertEvent(database.pool, { type })
    const deliveriesMax = 3
    const route = await routeEvents(router(), createSubscriptionCache(), 500, { deliveriesMax })
    expect(route).toMatchObject({ large: 1 })
    const cache = changedAfterRead(() => change(ids[1], 'active = false'))
    while (await spreadEvents(router(), cache, deliveriesMax));
    expect(await receiversOf(event)).toEqual(ids.toSpliced(1, 1))
    expect(await setAside()).toEqual([])
    expect(await queued()).toBe(0)
  })

  it('[U5, R1] delays no event next to a missing one, which is set aside', async () => {
    const type = 'switch.beside'
    const [changed, other] = await subscribe(type, 2)
    const event = await insertEvent(database.pool, { type })
    await database.pool.query(
      `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) VALUES ($1, ARRAY[999999::bigint])`,
      [type],
    )
    await routeEvents(
      router(),
      changedAfterRead(() => change(changed, 'active = false')),
      500,
    )
    expect(await receiversOf(event)).toEqual([other])
    expect(await setAside()).toEqual([
      expect.objectContaining({ eventId: '999999', errorCode: 'delivery_not_subscribed' }),
    ])
  })
})
