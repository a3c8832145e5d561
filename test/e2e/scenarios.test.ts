import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { storeEvents } from '../../src/delivery/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import { deliveriesOf, expectAllHolds, publish, SETTLE_MS_MAX, untilSettled } from './deliveries.js'
import { useProcesses } from './use-processes.js'
import { useReceiver } from './use-receiver.js'

const database = useDatabase()
beforeAll(() => installClock(database.pool))
const receiver = useReceiver(database)
const processes = useProcesses(database, () => receiver.authority)
const poll = { timeout: SETTLE_MS_MAX, interval: 100 }

afterEach(() => {
  receiver.respond = () => ({ status: 200 })
})

async function subscribe(eventType: string) {
  const log = receiver.startLog()
  const endpoint = await receiver.subscribe(eventType, log)
  return { log, endpoint, published: new Map<string, string>() }
}

describe('the scenarios that must pass end to end, with real processes', () => {
  it('[O6, E3, O7] an event that is published many times at once under one key is stored once and delivered once', async () => {
    const { log, endpoint, published } = await subscribe('scenario.duplicate')
    await Promise.all([processes.serve('router,orchestrator,cleaner'), processes.serve('worker')])
    const event = {
      type: 'scenario.duplicate',
      payload: '{ "order":  7 }',
      idempotencyKey: 'order-7',
    }
    const connections = new pg.Pool({ connectionString: database.url, max: 6 })
    try {
      const ids = await Promise.all([
        ...Array.from({ length: 6 }, () => publish(database, published, [event, event])),
        ...Array.from({ length: 6 }, async () => {
          const { rows } = await connections.query('SELECT sagapost.publish($1, $2::json, $3) AS id', [
            event.type,
            event.payload,
            event.idempotencyKey,
          ])
          return [rows[0].id as string]
        }),
      ])
      expect(new Set(ids.flat()).size).toBe(1)
    } finally {
      await connections.end()
    }
    const [conflict] = await storeEvents(database.as('event_ingest_writer'), [{ ...event, payload: '{}' }])
    expect(conflict).toMatchObject({ refusal: { code: 'idempotency_conflict' } })
    await expect.poll(() => log.requests, poll).toBeGreaterThanOrEqual(1)
    await untilSettled(database)
    await processes.stopCleanly()
    expect(log.requests).toBe(1)
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toMatchObject([
      { status: 'Completed', attempt_count: 1 },
    ])
    await expectAllHolds(database, { published, log }, [endpoint])
  })

  it('[O6, R3, S3] events that are routed twice, by two routers, are delivered once', async () => {
    const { log, endpoint, published } = await subscribe('scenario.routed-twice')
    await Promise.all([
      processes.serve('router'),
      processes.serve('router'),
      processes.serve('orchestrator,cleaner'),
      processes.serve('worker'),
    ])
    const store = (from: number, count: number) =>
      publish(
        database,
        published,
        Array.from({ length: count }, (_, n) => ({
          type: endpoint.eventType,
          payload: `{"n": ${from + n}}`,
        })),
      )
    const putBack = async () => {
      const { rowCount } = await database.pool.query(
        `INSERT INTO sagapost.event_routing_queue (event_type, event_ids) SELECT event_type, ARRAY[id]
         FROM sagapost.events WHERE event_type = $1`,
        [endpoint.eventType],
      )
      return rowCount
    }
    // While they are delivered for the first time, and again when all is done.
    for (const round of [0, 1, 2]) {
      await store(round * 100, 100)
      await putBack()
    }
    await untilSettled(database)
    expect(await putBack()).toBe(300)
    await untilSettled(database)
    // Whatever the second routing made would be due before this one.
    await store(300, 1)
    await expect.poll(() => log.requests, poll).toBeGreaterThanOrEqual(301)
    await untilSettled(database)
    await processes.stopCleanly()
    expect(log.requests).toBe(301)
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toHaveLength(301)
    await expectAllHolds(database, { published, log }, [endpoint])
  })

  it('[O6, J8, O2] a worker that is killed in mid-request: its job becomes free and another worker delivers it', async () => {
    const { log, endpoint, published } = await subscribe('scenario.killed')
    receiver.respond = () => ({ status: 200, delayMs: 600_000 })
    const [, victim] = await Promise.all([
      processes.serve('router,orchestrator,cleaner'),
      processes.serve('worker'),
    ])
    await publish(database, published, [{ type: endpoint.eventType, payload: '{"order": 9}' }])
    await expect.poll(() => log.requests, poll).toBe(1)
    victim.child.kill('SIGKILL')
    expect(await victim.exit).toBe('SIGKILL')
    receiver.respond = () => ({ status: 200 })
    await processes.serve('worker')
    await moveClock(database.pool, '61 seconds')
    await untilSettled(database)
    await processes.stopCleanly()
    expect(log.requests).toBe(2)
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toMatchObject([
      { status: 'Completed', attempt_count: 1, final_error_code: null },
    ])
    await expectAllHolds(database, { published, log }, [endpoint])
  })

  it('[O6, S17, S19, D3, D4] retries until the limit, dead-letters, and delivers after a requeue', async () => {
    const { log, endpoint, published } = await subscribe('scenario.dead')
    receiver.respond = () => ({ status: 503 })
    await Promise.all([processes.serve('router,orchestrator,cleaner'), processes.serve('worker')])
    const [eventId = ''] = await publish(database, published, [
      { type: endpoint.eventType, payload: '{ "text":"\\u0000" }' },
    ])
    const first = async () => (await deliveriesOf(database, endpoint.subscriptionId))[0]
    for (const attempt of [1, 2, 3, 4, 5]) {
      await expect.poll(async () => (await first())?.attempt_count, poll).toBe(attempt)
      await moveClock(database.pool, '1 hour')
    }
    await untilSettled(database)
    expect(await first()).toMatchObject({
      status: 'DeadLettered',
      attempt_count: 5,
      final_error_code: 'http_503',
    })
    expect(log.events.get(eventId)?.map(({ attempt, requests }) => [attempt, requests])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [5, 1],
    ])
    await expectAllHolds(database, { published, log }, [endpoint])

    receiver.respond = () => ({ status: 200 })
    const operator = database.as('dead_letter_operator')
    const { rows: letters } = await operator.query(
      'SELECT id, payload_snapshot::text AS payload FROM sagapost.dead_letters WHERE event_id = $1',
      [eventId],
    )
    expect(letters).toEqual([{ id: expect.anything(), payload: '{ "text":"\\u0000" }' }])
    const requeue = async () =>
      (await operator.query('SELECT * FROM sagapost.requeue_dead_letter($1)', [letters[0].id])).rows[0]
    const requeued = await requeue()
    expect(requeued.created).toBe(true)
    expect(await requeue()).toEqual({ delivery_id: requeued.delivery_id, created: false })
    await untilSettled(database)
    await processes.stopCleanly()
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toMatchObject([
      { status: 'DeadLettered', attempt_count: 5 },
      { id: requeued.delivery_id, status: 'Completed', attempt_count: 1, requeued_from: letters[0].id },
    ])
    expect(log.requests).toBe(6)
    await expectAllHolds(database, { published, log }, [endpoint])
  })
})
