import { beforeAll, describe, expect, it } from 'vitest'
import { createRateMeter } from '../../../src/observability/live/rate-meter.js'
import {
  bucketOf,
  DURATION_BUCKETS,
  durationBoundsMs,
  percentileOf,
} from '../../../src/observability/statistics/duration-buckets.js'
import { expireMinutes } from '../../../src/observability/statistics/expire-minutes.js'
import { keepDeliveryMinutes, keepEventMinutes } from '../../../src/observability/statistics/keep-minutes.js'
import { readHealth } from '../../../src/observability/statistics/read-health.js'
import { readStatistics } from '../../../src/observability/statistics/read-minutes.js'
import { createResultCounter } from '../../../src/observability/statistics/result-counter.js'
import { writeDeliveryMinutes } from '../../../src/observability/statistics/write-minutes.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'

const database = useDatabase()
const orchestrator = () => database.as('saga_orchestrator')
const reads = () => database.as('saga_readonly_role')

beforeAll(() => installClock(database.pool))

const total = async (table: string, column: string) => {
  const { rows } = await database.pool.query(
    `SELECT coalesce(sum(${column}), 0)::int AS total FROM sagapost.${table}`,
  )
  return rows[0].total
}

describe('durations', () => {
  it('[O5] each falls into the first bucket that holds it', () => {
    expect([0, 1, 1.1, 60_000, 60_001].map(bucketOf)).toEqual([
      0,
      0,
      1,
      DURATION_BUCKETS - 2,
      DURATION_BUCKETS - 1,
    ])
    expect(durationBoundsMs).toEqual(durationBoundsMs.toSorted((a, b) => a - b))
  })

  it('[O5] a percentile is off by at most the width of its bucket', () => {
    const durations = Array.from({ length: 1_000 }, (_, n) => 1.007 ** n)
    const counts = new Array<number>(DURATION_BUCKETS).fill(0)
    for (const each of durations) counts[bucketOf(each)] = (counts[bucketOf(each)] ?? 0) + 1
    for (const share of [0.01, 0.5, 0.95, 0.99]) {
      const exact = durations[Math.ceil(share * 1_000) - 1] as number
      const told = percentileOf(counts, share) as number
      expect(told / exact).toBeGreaterThan(0.5)
      expect(told / exact).toBeLessThan(2)
    }
    expect(percentileOf([], 0.5)).toBeNull()
  })
})

describe('counts by minute', () => {
  it('[O5] are those of all results, for each subscription and in total, across all writers', async () => {
    const counters = [createResultCounter(), createResultCounter()]
    for (const counter of counters) {
      const results = ['Completed', 'Completed', 'PendingRetry', 'DeadLettered'] as const
      for (const [index, status] of results.entries()) {
        const errorCode = status === 'Completed' ? null : 'http_500'
        counter.count({ subscriptionId: String(1 + (index % 2)), status, errorCode, durationMs: 10 * index })
      }
      counter.countDead('2')
    }
    const loops = counters.map((counter) =>
      keepDeliveryMinutes(counter, {
        pool: orchestrator(),
        onError: (error) => {
          throw error
        },
      }),
    )
    for (const loop of loops) await loop.stop()
    const { rows } = await database.pool.query(
      `SELECT subscription_id::int AS id, succeeded, failed, dead_lettered, last_error_code,
              (SELECT sum(each)::int FROM unnest(durations) AS each) AS timed
       FROM sagapost.delivery_minutes ORDER BY 1`,
    )
    const error = { last_error_code: 'http_500' }
    expect(rows).toEqual([
      { id: 0, succeeded: 4, failed: 4, dead_lettered: 4, timed: 8, ...error },
      { id: 1, succeeded: 2, failed: 2, dead_lettered: 0, timed: 4, ...error },
      { id: 2, succeeded: 2, failed: 2, dead_lettered: 4, timed: 4, ...error },
    ])
    const points = await readStatistics(reads(), { range: 'hour' })
    expect(points).toHaveLength(60)
    expect(points.at(-1)).toMatchObject({ succeeded: 4, failed: 4, deadLettered: 4, events: 0 })
    expect(points.at(-1)?.p50Ms).toBeGreaterThan(0)
    expect(points[0]).toMatchObject({ succeeded: 0, p50Ms: null })
    const day = await readStatistics(reads(), { range: 'day', subscriptionId: '2' })
    expect(day).toHaveLength(144)
    expect(day.at(-1)).toMatchObject({ succeeded: 2, failed: 2, deadLettered: 4, events: null })
    expect(await readHealth(reads(), ['1', '99'])).toEqual([
      {
        ...{ subscriptionId: '1', succeeded: 2, failed: 2, deadLettered: 0 },
        ...{ p50Ms: expect.any(Number), p95Ms: expect.any(Number) },
        ...{ lastErrorCode: 'http_500', lastErrorAt: expect.any(Date) },
      },
      {
        ...{ subscriptionId: '99', succeeded: 0, failed: 0, deadLettered: 0, p50Ms: null, p95Ms: null },
        ...{ lastErrorCode: null, lastErrorAt: null },
      },
    ])
  })

  it('[O5] wait while the database is away, and none is lost or counted twice', async () => {
    const before = await total('delivery_minutes', 'succeeded')
    const counter = createResultCounter()
    counter.count({ subscriptionId: '7', status: 'Completed', errorCode: null, durationMs: 5 })
    const failures: Error[] = []
    await database.pool.query('REVOKE INSERT ON sagapost.delivery_minutes FROM saga_orchestrator')
    const loop = keepDeliveryMinutes(counter, {
      pool: orchestrator(),
      onError: (error) => failures.push(error),
    })
    await expect.poll(() => failures.length).toBeGreaterThan(0)
    await database.pool.query('GRANT INSERT ON sagapost.delivery_minutes TO saga_orchestrator')
    await expect.poll(() => total('delivery_minutes', 'succeeded')).toBe(before + 2)
    await loop.stop()
    expect(await total('delivery_minutes', 'succeeded')).toBe(before + 2)
  })

  it('[O5] events are counted by the router', async () => {
    const loop = keepEventMinutes({ pool: database.as('router_worker'), onError: () => {} })
    loop.count(3)
    loop.count(4)
    await loop.stop()
    expect(await total('event_minutes', 'events')).toBe(7)
  })

  it('[O5] are removed after two days', async () => {
    const maintainer = database.as('schema_maintainer')
    expect([await expireMinutes(maintainer), (await total('delivery_minutes', 'succeeded')) > 0]).toEqual([
      false,
      true,
    ])
    await moveClock(database.pool, '49 hours')
    await writeDeliveryMinutes(orchestrator(), [
      { subscriptionId: '0', succeeded: 1, failed: 0, deadLettered: 0, durations: [], lastErrorCode: null },
    ])
    await expireMinutes(maintainer)
    expect([await total('delivery_minutes', 'succeeded'), await total('event_minutes', 'events')]).toEqual([
      1, 0,
    ])
  })
})

describe('rates', () => {
  const minute = (start: number, counts: object) => ({
    ...{ minute: start, events: 0, succeeded: 0, failed: 0, deadLettered: 0, durations: [] },
    ...counts,
  })

  it('[O5] are the growth of the counts, across the change of a minute as well', () => {
    let nowMs = 0
    const meter = createRateMeter(() => nowMs)
    meter.add([minute(1, { succeeded: 1_000 })])
    nowMs = 2_000
    meter.add([minute(1, { succeeded: 1_020, failed: 10, events: 4 })])
    nowMs = 4_000
    meter.add([
      minute(1, { succeeded: 1_030, failed: 10, events: 4 }),
      minute(2, { succeeded: 20, events: 4 }),
    ])
    expect(meter.read()).toMatchObject({
      eventsPerS: 2,
      attemptsPerS: 15,
      failedPerS: 2.5,
      successRate: 5 / 6,
    })
    nowMs = 60_000
    meter.add([minute(2, { succeeded: 20, events: 4 })])
    expect(meter.read()).toMatchObject({ eventsPerS: 0, attemptsPerS: 0 })
  })
})
