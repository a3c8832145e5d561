import type pg from 'pg'
import type { Logger } from 'pino'
import { createBulkPace, type Loop, spaceRounds, startLoop, type Wakeups } from '../../loop/index.js'
import { type EventCounter, logFailure, logFields, type Recorders } from '../../observability/index.js'
import type { RefusedEvent } from './make-sagas.js'
import { lookForUnrouted, type RoutedBatch, routeEvents } from './route-events.js'
import { spreadEvents } from './spread-events.js'
import { createSubscriptionCache } from './subscription-cache.js'

const EVENTS_PER_BATCH_MAX = 500
const PASSING_EVENTS_MAX = 200
/** Poll interval: the latency of events that are published by plain SQL, which sends no wake-up. */
const POLL_MS = 200
/** After this long without an event the router polls less often, so that an idle system costs next to nothing. */
const QUIET_AFTER_MS = 30_000
const POLL_MS_QUIET = 500
/** Under load no round is a poll, so the router looks this often for large rows that another router has left. */
const LOOK_FOR_LARGE_MS = 1_000
const NEVER_MS = 2 ** 31 - 1

export interface RouterOptions {
  /** Under the role router_worker. */
  pool: pg.Pool
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'eventsRouted' | 'eventsSetAside' | 'loopFailed'>
  /** Feeds the dashboard's charts. */
  counter: EventCounter
}

/** The loop that routes stored events. */
export function startRouter({ pool, wakeups, log, metrics, counter }: RouterOptions): Loop {
  const cache = createSubscriptionCache()
  const spacing = spaceRounds(wakeups.hasBacklog)
  let routedAtMs = Number.NEGATIVE_INFINITY
  /** One log line per batch: when a partition is missing, all of its events are refused. */
  const tellOf = (refused: readonly RefusedEvent[], { id, correlationId, error }: RefusedEvent) => {
    metrics.eventsSetAside(refused.length)
    log.error(
      { ...logFields({ eventId: id, correlationId }), err: error, events: refused.length },
      'events set aside: the database refuses their deliveries; retry with sagapost events requeue',
    )
  }
  const tell = ({ events, deliveries, refused }: RoutedBatch) => {
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
  }
  let lookedAtMs = Number.NEGATIVE_INFINITY
  /** Rows that take several transactions are routed one piece per round, beside other work. */
  let hasLarge = false
  const pace = createBulkPace(wakeups.hasBacklog)
  const onError = (error: Error) => {
    metrics.loopFailed('router')
    logFailure(log, error, 'routing failed; will try again')
  }
  const loop = startLoop({
    round: async (told) => {
      if (!told || performance.now() - lookedAtMs >= LOOK_FOR_LARGE_MS) {
        const { found, large } = await lookForUnrouted(pool)
        lookedAtMs = performance.now()
        hasLarge ||= large
        if (!told && !found) {
          spacing.ended(0, 0)
          return false
        }
      }
      if (pace.dueInMs() > 0) return false
      const startedAtMs = performance.now()
      const batch = await routeEvents(pool, cache, EVENTS_PER_BATCH_MAX)
      spacing.ended(batch.deliveries, performance.now() - startedAtMs)
      tell(batch)
      if (hasLarge || batch.large > 0) {
        const piece = await spreadEvents(pool, cache)
        if (piece) tell(piece)
        hasLarge = piece !== null
      }
      pace.ended(startedAtMs, batch.more || hasLarge)
      if (pace.hasMore()) passing.wake()
      return pace.hasMore() && pace.dueInMs() === 0
    },
    idleMs: () => {
      if (pace.hasMore()) return pace.dueInMs()
      return performance.now() - routedAtMs < QUIET_AFTER_MS ? POLL_MS : POLL_MS_QUIET
    },
    spacingMs: spacing.ms,
    onError,
  })
  // Rounds over a backlog take long, so events of other types have rounds of their own.
  const passing: Loop = startLoop({
    round: async () => {
      if (!pace.hasMore()) return false
      const batch = await routeEvents(pool, cache, PASSING_EVENTS_MAX, { passing: true })
      pace.passed(batch.events.length)
      tell(batch)
      return false
    },
    idleMs: () => (pace.hasMore() ? POLL_MS : NEVER_MS),
    spacingMs: pace.passingSpacingMs,
    onError,
  })
  const wake = () => {
    loop.wake()
    passing.wake()
  }
  const unsubscribe = wakeups.onWake('routing', wake)
  return {
    wake,
    async stop() {
      unsubscribe()
      await Promise.all([loop.stop(), passing.stop()])
    },
  }
}
