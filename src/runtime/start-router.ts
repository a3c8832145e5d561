import type pg from 'pg'
import type { Logger } from 'pino'
import { type Loop, startLoop, type Wakeups } from '../loop/index.js'
import { createSubscriptionCache, routeEvents } from '../router/index.js'

const EVENTS_PER_BATCH_MAX = 500

/** The loop that routes stored events, under the role router_worker. */
export function startRouter(options: { pool: pg.Pool; wakeups: Wakeups; log: Logger; pollMs: number }): Loop {
  const { pool, wakeups, log, pollMs } = options
  const cache = createSubscriptionCache()
  const loop = startLoop({
    round: async () => {
      const { events, sagas } = await routeEvents(pool, cache, EVENTS_PER_BATCH_MAX)
      if (events > 0) log.debug({ events, sagas }, 'events routed')
      if (sagas > 0) wakeups.wake('first-jobs')
      return events === EVENTS_PER_BATCH_MAX
    },
    idleMs: pollMs,
    onError: (error) => log.error({ err: error }, 'routing failed; will try again'),
  })
  const unsubscribe = wakeups.onWake('routing', loop.wake)
  return {
    wake: loop.wake,
    async stop() {
      unsubscribe()
      await loop.stop()
    },
  }
}
