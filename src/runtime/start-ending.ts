import type pg from 'pg'
import { type Loop, startLoop, type Wakeups } from '../loop/index.js'
import { type DeadDelivery, endStopped, forgetEndedCancellations } from '../orchestrator/index.js'

const BATCH_MAX = 500

export interface EndingOptions {
  /** Under the role saga_orchestrator. */
  pool: pg.Pool
  wakeups: Wakeups
  pollMs: () => number
  onEnded: (deliveries: readonly DeadDelivery[]) => void
  onError: (error: Error) => void
}

/**
 * The loop that ends deliveries which wait for a retry that is not to be made: of deleted subscriptions, and cancelled ones.
 * Beside the orchestrator's own, which goes on with the others, however many these are.
 */
export function startEnding({ pool, wakeups, pollMs, onEnded, onError }: EndingOptions): Loop {
  const loop = startLoop({
    round: async () => {
      const ended = await endStopped(pool, { batchMax: BATCH_MAX })
      onEnded(ended)
      await forgetEndedCancellations(pool)
      return ended.length >= BATCH_MAX
    },
    idleMs: pollMs,
    onError,
  })
  const unsubscribe = wakeups.onWake('switches', loop.wake)
  return {
    wake: loop.wake,
    async stop() {
      unsubscribe()
      await loop.stop()
    },
  }
}
