import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertEvent, insertSubscription } from '../support/fixtures.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()

const insertDeliveries = `
  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
  SELECT * FROM unnest($1::bigint[], $2::bigint[])`

type Pair = readonly [eventId: string, subscriptionId: string]
const valuesOf = (pairs: readonly Pair[]) => [
  pairs.map(([eventId]) => eventId),
  pairs.map(([, subscriptionId]) => subscriptionId),
]

/** As the router's role, and as the owner of the tables. */
const writers = () => [database.as('router_worker'), database.pool]

const expectRefused = async (pairs: readonly Pair[], message: RegExp) => {
  for (const writer of writers()) {
    const inserted = writer.query(insertDeliveries, valuesOf(pairs))
    await expect(inserted).rejects.toThrow(message)
    expect(await outcomeOf(inserted)).toMatchObject({
      code: 'delivery_not_subscribed',
      constraint: 'delivery_fits_subscription',
      sqlState: 'SP012',
    })
  }
}

const change = (id: string, assignments: string) =>
  database.pool.query(`UPDATE sagapost.subscriptions SET ${assignments} WHERE id = $1`, [id])

describe('a delivery', () => {
  it('[U5, R2] is made for stored events and active subscriptions of their types, many in a statement', async () => {
    const types = ['order.placed', 'order.paid']
    const pairs = await Promise.all(
      types.map(async (type): Promise<Pair[]> => {
        const events = await Promise.all([1, 2, 3].map(() => insertEvent(database.pool, { type })))
        const subscriptions = await Promise.all([1, 2].map(() => insertSubscription(database.pool, { type })))
        return events.flatMap((event) => subscriptions.map((subscription): Pair => [event, subscription]))
      }),
    )
    const { rowCount } = await database.as('router_worker').query(insertDeliveries, valuesOf(pairs.flat()))
    expect(rowCount).toBe(12)
  })

  it.each([
    { what: 'not verified', given: { active: false, verified: false }, change: undefined },
    { what: 'verified and not active', given: { active: false }, change: undefined },
    { what: 'switched off', given: {}, change: 'active = false' },
    { what: 'deleted', given: {}, change: 'active = false, deleted_at = sagapost.now()' },
  ])(
    '[U5] is refused for a subscription that is $what, for every role',
    async ({ given, change: assignments }) => {
      const event = await insertEvent(database.pool)
      const subscription = await insertSubscription(database.pool, given)
      if (assignments) await change(subscription, assignments)
      await expectRefused([[event, subscription]], /not there, not verified or not active/)
    },
  )

  it('[U5] is refused for a subscription that does not exist', async () => {
    await expectRefused([[await insertEvent(database.pool), '999999']], /subscription 999999, which is not/)
  })

  it('[U5, R2] is refused for an event that does not exist', async () => {
    await expectRefused([['999999', await insertSubscription(database.pool)]], /event 999999, which is not/)
  })

  it('[R2] is refused for a subscription of another type', async () => {
    const event = await insertEvent(database.pool, { type: 'order.placed' })
    const other = await insertSubscription(database.pool, { type: 'order.paid' })
    await expectRefused([[event, other]], /is of type order.placed, and subscription \d+ of type order.paid/)
  })

  it('[U5, R2] is refused with the whole statement that makes it', async () => {
    const fitting: Pair = [await insertEvent(database.pool), await insertSubscription(database.pool)]
    const other = await insertEvent(database.pool, { type: 'order.paid' })
    await expectRefused([fitting, [other, fitting[1]]], /order.paid/)
    expect(await codeOf(database.pool.query(insertDeliveries, valuesOf([fitting])))).toBe('accepted')
  })

  it('[U5] is refused straight into a partition, one that is made later included', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT partition_name AS name FROM sagapost.partitions
       WHERE table_name = 'webhook_delivery_sagas' ORDER BY from_id`,
    )
    const into = (name: string | undefined, pair: Pair) =>
      codeOf(
        database.pool.query(
          insertDeliveries.replace('webhook_delivery_sagas', String(name)),
          valuesOf([pair]),
        ),
      )
    const event = await insertEvent(database.pool)
    const inactive = await insertSubscription(database.pool, { active: false })
    expect(await into(rows[0]?.name, [event, inactive])).toBe('delivery_not_subscribed')
    const active = await insertSubscription(database.pool)
    expect(await into(rows[0]?.name, [event, active])).toBe('accepted')

    await database.pool.query(
      `SELECT sagapost.make_partition('webhook_delivery_sagas', 900000000, 901000000)`,
    )
    expect(await into('webhook_delivery_sagas_from_900000000', ['900000001', active])).toBe(
      'delivery_not_subscribed',
    )
  })
})

describe('a requeued delivery', () => {
  const requeue = (eventId: string, subscriptionId: string) =>
    database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from) VALUES ($1, $2, 7)`,
      [eventId, subscriptionId],
    )

  it('[D4] is sent to the subscription of its dead letter, whatever its type is by now', async () => {
    const { id, subscriptionId } = await insertDelivery(database.pool, 'DeadLettered')
    await change(subscriptionId, `event_type = 'order.paid'`)
    const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
      id,
    ])
    const { rows: requeued } = await database
      .as('dead_letter_operator')
      .query('SELECT * FROM sagapost.requeue_dead_letter($1)', [rows[0].id])
    expect(requeued).toEqual([{ delivery_id: expect.any(String), created: true }])
  })

  it('[U5, D4] is refused for a subscription that is not active, and for a missing event', async () => {
    const { eventId, subscriptionId } = await insertDelivery(database.pool, 'DeadLettered')
    expect(await codeOf(requeue('999999', subscriptionId))).toBe('delivery_not_subscribed')
    await change(subscriptionId, 'active = false')
    expect(await codeOf(requeue(eventId, subscriptionId))).toBe('delivery_not_subscribed')
  })
})

describe('the check of deliveries that are inserted', () => {
  it('[S21] reads the partitions of their events, and no other', async () => {
    const subscription = await insertSubscription(database.pool)
    const { rows } = await database.pool.query<{ id: string }>(
      `INSERT INTO sagapost.events (id, event_type, payload)
       SELECT 1000000 + n, 'order.placed', '{}' FROM generate_series(1, 40) AS n RETURNING id`,
    )
    const values = valuesOf(rows.map(({ id }): Pair => [id, subscription]))
    const client = await database.pool.connect()
    const looks = async () => {
      const { rows: tables } = await client.query(
        `SELECT relname AS name, (idx_scan + seq_scan)::int AS count FROM pg_stat_xact_user_tables
         WHERE relname LIKE 'events_from_%'`,
      )
      return new Map(tables.map(({ name, count }) => [name, count]))
    }
    try {
      // The first time, the planner itself looks into the indexes.
      await client.query('BEGIN')
      await client.query(insertDeliveries, values)
      await client.query('ROLLBACK; BEGIN')
      const before = await looks()
      await client.query(insertDeliveries, values)
      const after = await looks()
      const read = [...after.keys()].filter((name) => after.get(name) !== (before.get(name) ?? 0))
      expect(read).toEqual(['events_from_1000000'])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})
