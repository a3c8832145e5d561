export interface LoopOptions {
  /**
   * One round; returns `true` when more work can be done at once. `told` is false for a poll without a wake-up: the
   * round may first check whether there is work and skip the rest.
   */
  round: (told: boolean) => Promise<boolean>
  /** The pause after a round that found no more work: the fallback when no wake-up arrives. */
  idleMs: number | (() => number)
  /**
   * From the start of one round to the start of the next, unless there is more to do at once: under load, work that
   * arrives meanwhile shares a round's statements and commit. The first wake-up after a pause is not delayed.
   */
  spacingMs?: number | (() => number)
  /** Called when a round fails; the next round follows after a pause that doubles up to a limit. */
  onError: (error: Error) => void
  errorPauseMsMax?: number
}

export interface Loop {
  /** Announces work: ends the pause, or makes another round follow the current one at once. */
  wake(): void
  /** Stops the loop and waits for the current round. */
  stop(): Promise<void>
}

const ERROR_PAUSE_MS = 100
/** However long the database was unavailable, the parts resume this soon after it returns. */
const ERROR_PAUSE_MS_MAX = 2_000

/** Runs rounds one after another until stopped. An error never ends the loop. */
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
    // A busy part is woken for each delivery; a loop about to start a round has no pause to end.
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
        // Evaluated first: if this call wakes the loop, there is no pause.
        const pauseMs = current(idleMs)
        if (!more && !woken) await pause(pauseMs)
      } catch (error) {
        more = true
        onError(error as Error)
        // A wake-up does not shorten this pause: work that just failed is not retried sooner.
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
