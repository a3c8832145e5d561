import type pg from 'pg'
import type { WorkWindow } from '../../database/index.js'
import { type Loop, startLoop, type Wakeups } from '../../loop/index.js'
import type { DeadDelivery } from './dead-delivery.js'
import { endStopped, forgetEndedCancellations, isAnyStopped } from './end-stopped.js'

const BATCH_MAX = 500

export interface EndingOptions {
  /** Under the role saga_orchestrator. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  pollMs: () => number
  onEnded: (deliveries: readonly DeadDelivery[]) => void
  onError: (error: Error) => void
}

/**
 * The loop that ends deliveries whose retry must not happen: those of deleted subscriptions, and cancelled ones.
 * Separate from the orchestrator's main loop, so that a large number of them does not delay the others.
 */
export function startEnding({ pool, window, wakeups, pollMs, onEnded, onError }: EndingOptions): Loop {
  const loop = startLoop({
    round: async () => {
      if (!(await isAnyStopped(pool))) return false
      const { fresh, older } = window()
      let more = false
      for (const range of [fresh, ...older]) {
        const ended = await endStopped(pool, { range, batchMax: BATCH_MAX })
        onEnded(ended)
        more ||= ended.length >= BATCH_MAX
      }
      await forgetEndedCancellations(pool, window())
      return more
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
