import type pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadMigrations, migrationsFolder } from '../../../src/database/index.js'
import { requeueEvents } from '../../../src/delivery/index.js'
import { routeEvents } from '../../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../../src/delivery/router/subscription-cache.js'
import type { SystemExamination } from '../../../src/doctor/examine-system.js'
import { checkInvariants, examineSystem } from '../../../src/doctor/index.js'
import { openRoutes } from '../../../src/subscriptions/index.js'
import { useDatabase } from '../../support/database.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { codeOf } from '../../support/refusal.js'

const database = useDatabase()
const cache = createSubscriptionCache()

const route = () => routeEvents(database.as('router_worker'), cache, 500)
const note = () => openRoutes(database.as('subscription_admin'))
const requeue = () => requeueEvents(database.as('dead_letter_operator'))

/** The events that are lost, by the invariant. */
async function lost(): Promise<string[]> {
  const found = await checkInvariants(database.as('saga_readonly_role'))
  expect(found.filter(({ invariant }) => invariant !== 'routed_or_queued')).toEqual([])
  return found.flatMap(({ ids }) => ids).sort()
}

async function routesOf(eventId: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT subscription_id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1 ORDER BY 1',
    [eventId],
  )
  return rows.map(({ subscription_id }) => subscription_id)
}

const setActive = (client: pg.Pool | pg.PoolClient, id: string, active: boolean) =>
  client.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [id, active])

/** Published and routed, as far as anything is queued. */
async function publishAndRoute(type: string): Promise<string> {
  const id = await insertEvent(database.pool, { type })
  await route()
  return id
}

/** In a transaction that is open until the work is done. */
async function inOpenTransaction(
  begin: string,
  change: (client: pg.PoolClient) => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const client = await database.pool.connect()
  try {
    await client.query(begin)
    await change(client)
    await meanwhile()
    await client.query('COMMIT')
  } finally {
    client.release(true)
  }
}

beforeEach(async () => {
  await route()
  await requeue()
  await route()
  expect(await lost()).toEqual([])
})

describe('an event that is neither routed nor queued', () => {
  it('[R1] is found when its row was deleted from the queue, and is routed once when it is put back', async () => {
    const type = 'lost.deleted'
    const subscription = await insertSubscription(database.pool, { type })
    const others = [await insertEvent(database.pool, { type }), await insertEvent(database.pool, { type })]
    await route()
    const events = [await insertEvent(database.pool, { type }), await insertEvent(database.pool, { type })]
    expect(await lost()).toEqual([])
    await database.pool.query('DELETE FROM sagapost.event_routing_queue')
    expect(await lost()).toEqual(events)

    expect(await requeue()).toEqual({ setAside: 0, gone: 0, lost: 2 })
    expect(await lost()).toEqual([])
    expect(await requeue()).toEqual({ setAside: 0, gone: 0, lost: 0 })
    expect(await route()).toMatchObject({ deliveries: 2 })
    for (const event of [...events, ...others]) expect(await routesOf(event)).toEqual([subscription])
  })

  it('[R1] is found when the trigger that queues events is disabled, and the doctor names the trigger', async () => {
    const type = 'lost.trigger'
    const migrations = await loadMigrations(migrationsFolder)
    const as: SystemExamination['as'] = (role, work) => work(database.as(role))
    const findings = async () =>
      (await examineSystem({ as, migrations })).filter(
        ({ check }) => check === 'routing' || check === 'schema',
      )
    await insertSubscription(database.pool, { type })
    expect(await findings()).toMatchObject([{ severity: 'ok' }, { severity: 'ok' }])
    await database.pool.query('ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing')
    const event = await publishAndRoute(type)
    expect(await lost()).toEqual([event])
    expect(await findings()).toMatchObject([
      {
        severity: 'failing',
        code: 'trigger_disabled',
        detail: expect.stringContaining('event_enqueue_routing on sagapost.events'),
        remedy: 'ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_enqueue_routing',
      },
      {
        severity: 'failing',
        code: 'events_lost',
        detail: expect.stringMatching(/^1 of the last /),
        remedy: expect.stringContaining('events requeue'),
      },
    ])
    await database.pool.query('ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER event_enqueue_routing')
    await requeue()
    await route()
    expect(await findings()).toMatchObject([{ severity: 'ok' }, { severity: 'ok' }])
  })

  it('[R1, R3] reaches only the subscriptions that miss it', async () => {
    const type = 'lost.partly'
    const first = await insertSubscription(database.pool, { type })
    const event = await publishAndRoute(type)
    const second = await insertSubscription(database.pool, { type })
    // As if it had been active when the event was stored.
    await database.pool.query(
      'UPDATE sagapost.subscription_routes SET first_event_id = $2 WHERE subscription_id = $1',
      [second, event],
    )
    expect(await lost()).toEqual([event])
    expect(await requeue()).toMatchObject({ lost: 1 })
    expect(await route()).toMatchObject({ deliveries: 1 })
    expect(await routesOf(event)).toEqual([first, second])
    expect(await lost()).toEqual([])
  })

  it('[R1] is looked for slice by slice, up to the last event', async () => {
    const type = 'lost.slices'
    await insertSubscription(database.pool, { type })
    for (let n = 0; n < 5; n++) await insertEvent(database.pool, { type })
    await database.pool.query('DELETE FROM sagapost.event_routing_queue')
    const { rows: last } = await database.pool.query('SELECT max(id) AS id FROM sagapost.events')
    let requeued = 0
    let calls = 0
    for (let from: string | null = '0'; from !== null; calls++) {
      const { rows }: pg.QueryResult = await database
        .as('dead_letter_operator')
        .query('SELECT * FROM sagapost.requeue_lost_events($1, 2)', [from])
      requeued += Number(rows[0].requeued)
      from = rows[0].next_from
    }
    expect(requeued).toBe(5)
    expect(calls).toBe(Math.floor(Number(last[0].id) / 2) + 1)
    await route()
  })
})

describe('no alarm is raised', () => {
  it('[R5] about events that were routed while the activation was not committed', async () => {
    const type = 'calm.activation'
    const id = await insertSubscription(database.pool, { type, active: false })
    await inOpenTransaction(
      'BEGIN',
      (client) => setActive(client, id, true),
      async () => {
        await publishAndRoute(type)
        // It must not note what it cannot see.
        await note()
      },
    )
    await note()
    expect(await lost()).toEqual([])
    const event = await publishAndRoute(type)
    expect(await routesOf(event)).toEqual([id])
  })

  it('[R5] when the activation itself asks for the note', async () => {
    const type = 'calm.own'
    const id = await insertSubscription(database.pool, { type, active: false })
    await inOpenTransaction(
      'BEGIN',
      async (client) => {
        await setActive(client, id, true)
        await client.query('SELECT sagapost.open_routes()')
      },
      () => publishAndRoute(type),
    )
    expect(await lost()).toEqual([])
  })

  it('[R1, R5] about a publishing transaction that began long before the activation, and commits long after', async () => {
    const type = 'calm.publishing'
    const id = await insertSubscription(database.pool, { type, active: false })
    let event = ''
    await inOpenTransaction(
      'BEGIN',
      async (client) => {
        event = await insertEvent(client, { type })
      },
      async () => {
        await setActive(database.pool, id, true)
        await note()
        await route()
        expect(await lost()).toEqual([])
      },
    )
    expect(await lost()).toEqual([])
    await route()
    expect(await routesOf(event)).toEqual([id])
  })

  it('[R5, U5] about events from the time when a subscription was inactive, of another type, or deleted', async () => {
    const id = await insertSubscription(database.pool, { type: 'calm.first' })
    await setActive(database.pool, id, false)
    await publishAndRoute('calm.first')
    await setActive(database.pool, id, true)
    expect(await lost()).toEqual([])
    await note()
    expect(await lost()).toEqual([])
    await database.pool.query(`UPDATE sagapost.subscriptions SET event_type = 'calm.second' WHERE id = $1`, [
      id,
    ])
    await publishAndRoute('calm.first')
    await publishAndRoute('calm.second')
    await note()
    await database.pool.query(`UPDATE sagapost.subscriptions SET event_type = 'calm.first' WHERE id = $1`, [
      id,
    ])
    await publishAndRoute('calm.second')
    expect(await lost()).toEqual([])
    await note()
    await database.pool.query(
      `UPDATE sagapost.subscriptions SET active = false, deleted_at = sagapost.now() WHERE id = $1`,
      [id],
    )
    await publishAndRoute('calm.first')
    expect(await lost()).toEqual([])
  })

  it('[R5] when a transaction with an older snapshot deactivates it', async () => {
    const type = 'calm.snapshot'
    const id = await insertSubscription(database.pool, { type, active: false })
    await setActive(database.pool, id, true)
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT FROM sagapost.subscriptions')
      await note()
      // It does not see the row that it would have to take away.
      expect(await codeOf(setActive(client, id, false))).toBe('SQLSTATE 40001')
    } finally {
      client.release(true)
    }
  })

  it('[R5] and the check waits for no change of a subscription', async () => {
    const id = await insertSubscription(database.pool, { type: 'calm.waiting', active: false })
    const other = await insertSubscription(database.pool, { type: 'calm.waiting', active: false })
    await setActive(database.pool, other, true)
    await inOpenTransaction(
      'BEGIN',
      (client) => setActive(client, id, true),
      () => withoutWaiting(database.pool, note()),
    )
  })

  it('[R1, R5] while subscriptions change, events are published in transactions of any length, and routers route', async () => {
    const type = 'calm.storm'
    const ids = await Promise.all([1, 2, 3].map(() => insertSubscription(database.pool, { type })))
    let running = true
    const alongside = async (work: () => Promise<unknown>) => {
      while (running) await work()
    }
    const publishing = async () => {
      const client = await database.pool.connect()
      await client.query('BEGIN')
      const times = Math.ceil(Math.random() * 3)
      for (let n = 0; n < times; n++) await insertEvent(client, { type })
      await client.query(Math.random() < 0.9 ? 'COMMIT' : 'ROLLBACK')
      client.release()
    }
    const changing = async () => {
      const id = ids[Math.floor(Math.random() * ids.length)] as string
      const client = await database.pool.connect()
      await client.query('BEGIN')
      await setActive(client, id, false)
      if (Math.random() < 0.3) await client.query('SELECT sagapost.open_routes()')
      if (Math.random() < 0.8) await setActive(client, id, true)
      await client.query('COMMIT')
      client.release()
      if (Math.random() < 0.7) await note()
    }
    const ownCache = createSubscriptionCache()
    const parts = [
      alongside(publishing),
      alongside(publishing),
      alongside(changing),
      alongside(() => routeEvents(database.as('router_worker'), ownCache, 5)),
      alongside(route),
    ]
    let judged = 0
    try {
      for (let look = 0; look < 15 || judged === 0; look++) {
        expect(await lost()).toEqual([])
        const { rows } = await database.pool.query(
          `SELECT count(*)::int AS events FROM sagapost.events JOIN sagapost.subscription_routes USING (event_type)
           WHERE event_type = $1 AND id >= first_event_id`,
          [type],
        )
        judged += rows[0].events
      }
    } finally {
      running = false
      await Promise.all(parts)
    }
    expect(await lost()).toEqual([])
  })
})
