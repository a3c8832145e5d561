import { expect, it } from 'vitest'
import { countDeliveries } from '../support/count-deliveries.js'
import { useDatabase } from '../support/database.js'
import { expectAllHolds, publish, untilSettled } from './deliveries.js'
import { useProcesses } from './use-processes.js'
import { useReceiver } from './use-receiver.js'
import { varyPayload } from './vary-payload.js'

const EVENTS = 10_000
const SUBSCRIPTIONS = 3
const WRITERS = 4
const EVENTS_PER_BATCH = 100

const database = useDatabase()
const receiver = useReceiver(database)
const processes = useProcesses(database, () => receiver.authority)

it('[R2, S3, S13, J3, E1, D2] 10,000 events to 3 subscriptions each: byte for byte, signed, once', async () => {
  const log = receiver.startLog()
  const published = new Map<string, string>()
  const endpoints = []
  for (let n = 0; n < SUBSCRIPTIONS; n++) endpoints.push(await receiver.subscribe('bulk', log))
  await Promise.all([
    processes.serve('router'),
    processes.serve('orchestrator,cleaner'),
    processes.serve('worker'),
    processes.serve('worker'),
  ])

  let next = 0
  const write = async () => {
    while (next < EVENTS) {
      const from = next
      next += EVENTS_PER_BATCH
      await publish(
        database,
        published,
        Array.from({ length: EVENTS_PER_BATCH }, (_, n) => ({
          type: 'bulk',
          payload: varyPayload(from + n),
        })),
      )
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
  expect(published.size).toBe(EVENTS)

  await expect
    .poll(() => log.requests, { timeout: 500_000, interval: 500 })
    .toBeGreaterThanOrEqual(EVENTS * SUBSCRIPTIONS)
  await untilSettled(database)
  await processes.stopCleanly()

  await expectAllHolds(database, { published, log }, endpoints)
  expect(await countDeliveries(database.as('saga_readonly_role'))).toEqual({
    events: EVENTS,
    unrouted: 0,
    accepted: EVENTS * SUBSCRIPTIONS,
    completed: EVENTS * SUBSCRIPTIONS,
    deadLettered: 0,
    open: 0,
  })
  expect(log.requests).toBe(EVENTS * SUBSCRIPTIONS)
  const { rows } = await database.pool.query(
    `SELECT attempt_count, count(*)::int AS deliveries FROM sagapost.webhook_delivery_sagas GROUP BY attempt_count`,
  )
  expect(rows).toEqual([{ attempt_count: 1, deliveries: EVENTS * SUBSCRIPTIONS }])
})
