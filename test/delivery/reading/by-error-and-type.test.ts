import { beforeAll, describe, expect, it } from 'vitest'
import { listDeliveries } from '../../../src/delivery/index.js'
import type { DeliveryFilter } from '../../../src/delivery/reading/list-deliveries.js'
import { EXAMINED_MAX } from '../../../src/delivery/reading/list-deliveries-of-type.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'
import { walkPages } from '../../support/walk-pages.js'

const database = useDatabase()
const list = (filter: DeliveryFilter) => listDeliveries(database.as('saga_readonly_role'), filter)
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

/** One delivery of the event to each subscription, newest first. The subscriptions are of its type from then on. */
async function deliver(eventId: string, subscriptionIds: readonly string[]): Promise<string[]> {
  await database.pool.query(
    `UPDATE sagapost.subscriptions SET event_type = event.event_type
     FROM sagapost.events AS event WHERE event.id = $1 AND subscriptions.id = ANY ($2)`,
    [eventId, subscriptionIds],
  )
  const { rows } = await database.pool.query(
    `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
     SELECT $1, unnest($2::bigint[]) RETURNING id`,
    [eventId, subscriptionIds],
  )
  return idsOf(rows).reverse()
}

async function move(ids: readonly string[], status: string, errorCode: string | null = null): Promise<void> {
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_sagas
     SET status = $2::sagapost.delivery_status, final_error_code = coalesce($3, final_error_code),
         attempt_count = attempt_count + CASE WHEN $2 = 'PendingRetry' THEN 1 ELSE 0 END
     WHERE id = ANY ($1)`,
    [ids, status, errorCode],
  )
}

async function fail(ids: readonly string[], errorCode: string): Promise<void> {
  await move(ids, 'InProgress')
  await move(ids, 'PendingRetry', errorCode)
}

const subscribe = (count: number) =>
  Promise.all(Array.from({ length: count }, () => insertSubscription(database.pool)))

describe('deliveries by error', () => {
  let subscriptionIds: string[]
  let crowd: { eventId: string; ids: string[] }
  let other: { eventId: string; ids: string[] }

  /** Of two events to six subscriptions each, every second failed with a time-out: one is dead, one is tried again. */
  beforeAll(async () => {
    subscriptionIds = await subscribe(6)
    const make = async (type: string) => {
      const eventId = await insertEvent(database.pool, { type })
      return { eventId, ids: await deliver(eventId, subscriptionIds) }
    }
    crowd = await make('crowd.first')
    other = await make('crowd.second')
    for (const { ids } of [crowd, other]) {
      await fail(
        ids.filter((_, index) => index % 2 === 0),
        'timeout',
      )
      await fail(
        ids.filter((_, index) => index % 2 === 1),
        'http_500',
      )
    }
    await move(other.ids.slice(2, 3), 'DeadLettered')
    await move(other.ids.slice(4, 5), 'InProgress')
  })

  const timedOut = () => {
    const [a, , b, , c] = crowd.ids
    const [d, , dead] = other.ids
    return { first: [a, b, c], second: [d, dead], dead }
  }

  it('[S17] are those that failed last with that error and are not under way, newest first', async () => {
    const { first, second } = timedOut()
    for (const limit of [1, 2, 50]) {
      expect(idsOf(await walkPages(list, { errorCode: 'timeout', limit }))).toEqual([...second, ...first])
    }
    expect(await list({ errorCode: 'tls_failed' })).toEqual({ data: [], nextCursor: null })
  })

  it('[S17] and status', async () => {
    const { first, second, dead } = timedOut()
    const ids = async (status: 'DeadLettered' | 'PendingRetry' | 'InProgress') =>
      idsOf((await list({ errorCode: 'timeout', status })).data)
    expect(await ids('DeadLettered')).toEqual([dead])
    expect(await ids('PendingRetry')).toEqual([second[0], ...first])
    expect(await ids('InProgress')).toEqual([])
  })

  it('[S17] and event, however many deliveries the event has', async () => {
    const { first, second } = timedOut()
    const walk = (eventId: string) => walkPages(list, { errorCode: 'timeout', eventId, limit: 1 })
    expect(idsOf(await walk(crowd.eventId))).toEqual(first)
    expect(idsOf(await walk(other.eventId))).toEqual(second)
  })

  it('[S17] and subscription', async () => {
    const subscriptionId = subscriptionIds.at(-1) as string
    const walk = (errorCode: string) => walkPages(list, { errorCode, subscriptionId, limit: 1 })
    expect(idsOf(await walk('timeout'))).toEqual([other.ids[0], crowd.ids[0]])
    expect((await list({ errorCode: 'http_500', subscriptionId })).data).toEqual([])
  })

  it.each([1, 2, 50])('[S17, E1] and type of event, in pages of %i', async (limit) => {
    const { first, second } = timedOut()
    const walk = (eventType: string) => walkPages(list, { errorCode: 'timeout', eventType, limit })
    expect(idsOf(await walk('crowd.first'))).toEqual(first)
    expect(idsOf(await walk('crowd.second'))).toEqual(second)
  })
})

describe('deliveries by type of event', () => {
  const publish = (type: string, count: number) =>
    database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload) SELECT $1, '{}' FROM generate_series(1, $2)`,
      [type, count],
    )

  it.each([1, 2, 3, 50])(
    '[E1, S1] are listed completely in pages of %i, by event, past events without deliveries',
    async (limit) => {
      const type = `sparse.${limit}`
      const subscriptionIds = await subscribe(3)
      const made: string[] = []
      for (let event = 0; event < 3; event++) {
        made.unshift(...(await deliver(await insertEvent(database.pool, { type }), subscriptionIds)))
        await publish(type, 60)
        await insertEvent(database.pool, { type: 'sparse.noise' })
      }
      expect(idsOf(await walkPages(list, { eventType: type, limit }))).toEqual(made)
    },
  )

  it('[E1, S1] search a limited number of events in a request, and return where to continue', async () => {
    const type = 'sparse.desert'
    const subscriptionIds = await subscribe(2)
    const oldest = await deliver(await insertEvent(database.pool, { type }), subscriptionIds)
    await publish(type, EXAMINED_MAX)
    const newest = await deliver(await insertEvent(database.pool, { type }), subscriptionIds)
    const first = await list({ eventType: type, limit: 10 })
    expect(idsOf(first.data)).toEqual(newest)
    const second = await list({ eventType: type, limit: 10, cursor: first.nextCursor as string })
    expect(second).toMatchObject({ data: oldest.map((id) => ({ id })), nextCursor: null })
  })

  it('[E1, S1] search a limited number of deliveries that other filters exclude in a request, and return where to continue', async () => {
    const [subscriptionId = ''] = await subscribe(1)
    const oldest = await deliver(await insertEvent(database.pool, { type: 'sieve.kept' }), [subscriptionId])
    await publish('sieve.dropped', EXAMINED_MAX)
    await database.pool.query(
      `UPDATE sagapost.subscriptions SET event_type = 'sieve.dropped' WHERE id = $1`,
      [subscriptionId],
    )
    await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
       SELECT id, $1 FROM sagapost.events WHERE event_type = 'sieve.dropped'`,
      [subscriptionId],
    )
    const first = await list({ eventType: 'sieve.kept', subscriptionId })
    expect(first).toEqual({ data: [], nextCursor: expect.any(String) })
    const cursor = first.nextCursor as string
    const second = await list({ eventType: 'sieve.kept', subscriptionId, cursor })
    expect(second).toMatchObject({ data: oldest.map((id) => ({ id })), nextCursor: null })
  })
})
