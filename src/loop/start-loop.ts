export interface LoopOptions {
  /**
   * One round; `true` when there is more to do at once. `told` is false for a look on its own account, when nobody has
   * said that there is work: it may look first and save the rest.
   */
  round: (told: boolean) => Promise<boolean>
  /** The pause after a round that found nothing more: the fallback when no wake-up comes. */
  idleMs: number | (() => number)
  /**
   * From the beginning of one round to the next, unless there is more to do at once: under load, what comes meanwhile
   * shares a round's statements and commit. The first wake-up after a pause is not held up.
   */
  spacingMs?: number | (() => number)
  /** A failed round; the next one tries again after a pause that doubles up to this limit. */
  onError: (error: Error) => void
  errorPauseMsMax?: number
}

export interface Loop {
  /** There is work: ends the pause, or makes the round that is under way be followed by another at once. */
  wake(): void
  /** Waits for the round that is under way. */
  stop(): Promise<void>
}

const ERROR_PAUSE_MS = 100
/** However long a database was away, its parts are back this soon after it is. */
const ERROR_PAUSE_MS_MAX = 2_000

/** Runs rounds one after the other until it is stopped. An error never ends it. */
export function startLoop({
  round,
  idleMs,
  spacingMs = 0,
  onError,
  errorPauseMsMax = ERROR_PAUSE_MS_MAX,
}: LoopOptions): Loop {
  const stopping = new AbortController()
  let woken = false
  let endPause = () => {}
  const wake = () => {
    // A busy part is woken for each delivery: what is about to begin a round has no pause to end.
    if (woken) return
    woken = true
    endPause()
  }
  stopping.signal.addEventListener('abort', wake)

  const loop = (async () => {
    let errorPauseMs = ERROR_PAUSE_MS
    let more = true
    let nextAtMs = 0
    while (!stopping.signal.aborted) {
      const earlyMs = more ? 0 : nextAtMs - performance.now()
      if (earlyMs > 0) await pause(earlyMs, stopping.signal)
      if (stopping.signal.aborted) break
      const startedAtMs = performance.now()
      const told = woken || more
      woken = false
      try {
        more = await round(told)
        nextAtMs = startedAtMs + current(spacingMs)
        errorPauseMs = ERROR_PAUSE_MS
        // Asked first: should it wake this loop, there is no pause.
        const pauseMs = current(idleMs)
        if (!more && !woken) await pause(pauseMs)
      } catch (error) {
        more = true
        onError(error as Error)
        // A wake-up does not shorten this pause: what failed a moment ago is not asked for more.
        if (!stopping.signal.aborted) await pause(errorPauseMs, stopping.signal)
        errorPauseMs = Math.min(errorPauseMs * 2, errorPauseMsMax)
      }
    }
  })()

  function pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      if (signal) signal.addEventListener('abort', done, { once: true })
      else endPause = done
    })
  }

  return {
    wake,
    async stop() {
      stopping.abort()
      await loop
    },
  }
}

function current(ms: number | (() => number)): number {
  return typeof ms === 'number' ? ms : ms()
}
