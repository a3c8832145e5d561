import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createWakeups } from '../../src/loop/index.js'
import { startRouter } from '../../src/runtime/start-router.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const HALF_A_MINUTE_MS = 30_000

afterEach(() => void vi.restoreAllMocks())

describe('the router', () => {
  it('[R1] looks often while there are events, and less often at first and after half a minute without one', async () => {
    const realNow = performance.now.bind(performance)
    let laterMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    // The pauses of the loop; its rounds are 10 ms apart, and the connections' own time-outs are longer.
    const pauses = () => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms >= 100 && ms <= 1_000)
    let routed = 0
    const loop = startRouter({
      pool: database.as('router_worker'),
      wakeups: createWakeups(),
      log: pino({ level: 'silent' }),
      metrics: {
        eventsRouted: (events) => {
          routed += events
        },
        eventsSetAside() {},
        loopFailed() {},
      },
      counter: { count() {} },
    })
    try {
      await expect.poll(() => pauses().slice(0, 2)).toEqual([500, 500])
      await database.pool.query(`SELECT sagapost.publish('quiet.over', '{}')`)
      await expect.poll(() => routed).toBe(1)
      await expect.poll(() => pauses().slice(-2)).toEqual([200, 200])
      laterMs = HALF_A_MINUTE_MS
      await expect.poll(() => pauses().slice(-2)).toEqual([500, 500])
    } finally {
      await loop.stop()
    }
  })
})
