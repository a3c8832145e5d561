import type pg from 'pg'
import { startEnding, startOrchestrator } from '../delivery/index.js'
import { type Loop, startLoop } from '../loop/index.js'
import { createResultCounter, keepDeliveryMinutes } from '../observability/index.js'
import { deactivateGoneSubscriptions } from '../subscriptions/index.js'
import type { PartContext } from './part-context.js'

/** An answer of 410 wakes this loop; the poll is for what a crash left in between. */
const GONE_MS = 60_000
const GONE_SPACING_MS = 1_000
/** Longer than any pause of this loop, so that no 410 is missed after a restart. */
const GONE_WITHIN_MS = 24 * 3_600_000

/** The orchestrator and what goes with it, under its role [S20]. */
export async function startOrchestratorPart(context: PartContext): Promise<void> {
  const { config, log, metrics, wakeups, stops, openPool, windowOf, onError, pollMs } = context
  const pool = openPool('saga_orchestrator', 4)
  const window = await windowOf(pool)
  const policy = {
    baseDelayMs: config.retryBaseDelayMs,
    maxDelayMs: config.retryMaxDelayMs,
    retryAfterMaxS: Math.ceil(config.retryAfterMaxMs / 1_000),
    limit: config.retryLimit,
  }
  const admin = openPool('subscription_admin', 1)
  const gone = startGone(context, admin)
  stops.add('work', 'gone subscriptions', () => gone.stop())

  const counter = createResultCounter()
  const counts = keepDeliveryMinutes(counter, {
    pool,
    onError: onError('statistics', 'counting results'),
  })
  stops.add('records', 'statistics', () => counts.stop())
  const orchestrator = startOrchestrator({
    pool,
    window: window.current,
    wakeups,
    log,
    metrics,
    counter,
    policy,
    onGone: gone.wake,
    pollMs,
  })
  stops.add('work', 'orchestrator', () => orchestrator.stop())
  const ending = startEnding({
    pool,
    window: window.current,
    wakeups,
    pollMs,
    onEnded: orchestrator.buryWaiting,
    onError: onError('orchestrator', 'ending stopped deliveries'),
  })
  stops.add('work', 'ending', () => ending.stop())
}

/** Deactivates subscriptions whose receiver answered 410, under the role subscription_admin. */
function startGone({ log, metrics, onError }: PartContext, admin: pg.Pool): Loop {
  return startLoop({
    round: async () => {
      for (const id of await deactivateGoneSubscriptions(admin, GONE_WITHIN_MS)) {
        metrics.subscriptionGone()
        log.warn(
          { subscription_id: id, error_code: 'http_410' },
          'subscription disabled: its receiver is gone',
        )
      }
      return false
    },
    idleMs: GONE_MS,
    spacingMs: GONE_SPACING_MS,
    onError: onError('gone_subscriptions', 'looking for receivers that are gone'),
  })
}
