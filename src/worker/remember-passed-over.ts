/** Every so often the whole backlog is looked at again: for what committed later than that. */
const FULL_LOOK_MS = 5_000
/** A job's time is that of its transaction's start; one that commits later than this waits for a full look. */
const LATE_COMMIT_MS = 2_000

/**
 * How far a worker has looked past the jobs of subscriptions that it takes none for. Without this every claim would
 * go through the whole backlog of a paused endpoint, which stands at the head of the index, to find the others' work.
 */
export interface PassedOver {
  /** From where to look, given whom to pass over now; undefined: from the beginning. */
  from(except: readonly string[], nowMs: number): Date | undefined
  /** What a claim with the same `except` found. */
  until(time: Date): void
}

export function rememberPassedOver(): PassedOver {
  // Whom, and since which mark: before it, their jobs were looked at as well.
  let passed = new Map<string, Date | undefined>()
  let mark: Date | undefined
  let fullLookAtMs = Number.NEGATIVE_INFINITY
  return {
    from(except, nowMs) {
      const now = new Map(except.map((id) => [id, passed.has(id) ? passed.get(id) : mark]))
      // A subscription that is not passed over any more may have jobs before the mark, back to where it was left.
      for (const [id, since] of passed) {
        if (!now.has(id) && mark !== undefined && (since === undefined || since < mark)) mark = since
      }
      passed = now
      if (now.size === 0 || nowMs - fullLookAtMs >= FULL_LOOK_MS) {
        mark = undefined
        fullLookAtMs = nowMs
      }
      return mark
    },
    until(time) {
      if (passed.size > 0) mark = new Date(time.getTime() - LATE_COMMIT_MS)
    },
  }
}
