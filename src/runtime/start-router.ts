import type pg from 'pg'
import type { Logger } from 'pino'
import { type Loop, spaceRounds, startLoop, type Wakeups } from '../loop/index.js'
import { logFailure, logFields, type Recorders } from '../observability/index.js'
import {
  createSubscriptionCache,
  hasUnroutedEvents,
  type RefusedEvent,
  routeEvents,
} from '../router/index.js'
import type { EventCounter } from '../statistics/index.js'

const EVENTS_PER_BATCH_MAX = 500
/** How often it looks by itself: the latency of events that are published by plain SQL, which wake nobody. */
const POLL_MS = 200
/** After so long without an event it looks less often: an idle system costs next to nothing. */
const QUIET_AFTER_MS = 30_000
const POLL_MS_QUIET = 500

export interface RouterOptions {
  /** Under the role router_worker. */
  pool: pg.Pool
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'eventsRouted' | 'eventsSetAside' | 'loopFailed'>
  /** For the charts of the dashboard. */
  counter: EventCounter
}

/** The loop that routes stored events. */
export function startRouter({ pool, wakeups, log, metrics, counter }: RouterOptions): Loop {
  const cache = createSubscriptionCache()
  const spacing = spaceRounds(wakeups.hasBacklog)
  let routedAtMs = Number.NEGATIVE_INFINITY
  /** One line for a batch: when a partition is missing, all of its events are refused. */
  const tellOf = (refused: readonly RefusedEvent[], { id, correlationId, error }: RefusedEvent) => {
    metrics.eventsSetAside(refused.length)
    log.error(
      { ...logFields({ eventId: id, correlationId }), err: error, events: refused.length },
      'events set aside: the database refuses their deliveries; sagapost events requeue tries again',
    )
  }
  const loop = startLoop({
    round: async (told) => {
      if (!told && !(await hasUnroutedEvents(pool))) {
        spacing.ended(0, 0)
        return false
      }
      const startedAtMs = performance.now()
      const { events, deliveries, refused, more } = await routeEvents(pool, cache, EVENTS_PER_BATCH_MAX)
      spacing.ended(deliveries, performance.now() - startedAtMs)
      if (events.length > 0) routedAtMs = performance.now()
      counter.count(events.length)
      metrics.eventsRouted(events.length, deliveries)
      if (refused[0]) tellOf(refused, refused[0])
      for (const event of log.isLevelEnabled('debug') ? events : []) {
        log.debug(
          {
            ...logFields({ eventId: event.id, correlationId: event.correlationId }),
            event_type: event.type,
            subscriptions: event.subscriptions,
          },
          'event routed',
        )
      }
      if (deliveries > 0) wakeups.wake('first-jobs')
      return more
    },
    idleMs: () => (performance.now() - routedAtMs < QUIET_AFTER_MS ? POLL_MS : POLL_MS_QUIET),
    spacingMs: spacing.ms,
    onError: (error) => {
      metrics.loopFailed('router')
      logFailure(log, error, 'routing failed; will try again')
    },
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
