import type pg from 'pg'
import { type Loop, startLoop } from '../../loop/index.js'
import type { ResultCounter } from './result-counter.js'
import { writeDeliveryMinutes, writeEventMinutes } from './write-minutes.js'

/** How late a count may be, and how much of them a process that is killed takes with it. */
const WRITE_EVERY_MS = 2_000
/** One statement: with more subscriptions than this at once, the others follow in the next. */
const ROWS_MAX = 500

export interface MinutesOptions {
  pool: pg.Pool
  onError: (error: Error) => void
  writeEveryMs?: number
}

/** Writes what the orchestrator has counted; what it holds when it is stopped as well. */
export function keepDeliveryMinutes(counter: ResultCounter, options: MinutesOptions): Loop {
  return keep(options, async () => {
    const counts = counter.take(ROWS_MAX)
    await writeDeliveryMinutes(options.pool, counts).catch((error: Error) => {
      counter.putBack(counts)
      throw error
    })
    return counts.length === ROWS_MAX
  })
}

export interface EventCounter {
  count(events: number): void
}

/** The same for the router's events. */
export function keepEventMinutes(options: MinutesOptions): Loop & EventCounter {
  let counted = 0
  const loop = keep(options, async () => {
    const events = counted
    counted = 0
    await writeEventMinutes(options.pool, events).catch((error: Error) => {
      counted += events
      throw error
    })
    return false
  })
  return {
    ...loop,
    count(events) {
      counted += events
    },
  }
}

function keep(
  { onError, writeEveryMs = WRITE_EVERY_MS }: MinutesOptions,
  write: () => Promise<boolean>,
): Loop {
  const loop = startLoop({ round: write, idleMs: writeEveryMs, onError })
  return {
    wake: loop.wake,
    async stop() {
      await loop.stop()
      // The database may be unreachable during a stop: lost counts must not fail it.
      while (await write().catch(() => false));
    },
  }
}
