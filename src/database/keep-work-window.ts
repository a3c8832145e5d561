import type pg from 'pg'
import { type Loop, startLoop } from '../loop/index.js'
import { createWindowReader, type WorkWindow } from './work-window.js'

/**
 * The window extends past a border that is 100,000 events away (migrations/0008): even 50,000 events a second do not
 * outrun it.
 */
const REFRESH_MS = 2_000

export interface WorkWindowKeeper {
  current(): WorkWindow
  stop(): Promise<void>
}

/** Reads the window now and then at the refresh interval. Throws only when the first read fails. */
export async function keepWorkWindow(
  pool: pg.Pool,
  { onError, refreshMs = REFRESH_MS }: { onError: (error: Error) => void; refreshMs?: number },
): Promise<WorkWindowKeeper> {
  const read = createWindowReader(pool)
  let window = await read()
  const loop: Loop = startLoop({
    round: async () => {
      window = await read()
      return false
    },
    idleMs: refreshMs,
    onError,
  })
  return { current: () => window, stop: () => loop.stop() }
}
