/** Every so often the whole backlog is looked at again: for what committed later than that. */
const FULL_LOOK_MS = 5_000
/**
 * A job's time is that of its transaction's start. One that commits within this time is found by the next look, a later
 * one by the next that goes further back. Each look goes through all that has become free since then: with 20,000
 * jobs that one endpoint had got at once, 12 ms for each look at the last two seconds.
 */
const COMMIT_MS = 100
/** A few times a second the look goes back this far. */
const LATE_COMMIT_MS = 2_000
const LATE_LOOK_MS = 250

/**
 * How far a worker has looked past the jobs of subscriptions that it takes none for. Without this every claim would
 * go through the whole backlog of a paused endpoint, which stands at the head of the index, to find the others' work.
 */
export interface PassedOver {
  /** From where to look, given whom to pass over now; undefined: from the beginning. */
  from(except: readonly string[], nowMs: number): Date | undefined
  /** Those whom the look that `from` was for takes up again, with a backlog of unknown length. */
  takenUp(): string[]
  /** What a claim with the same `except` found. */
  until(time: Date): void
}

/** Up to where somebody's jobs were looked at; undefined: none of them. */
type Mark = Date | undefined

export function rememberPassedOver(): PassedOver {
  /** Of those who are not in the lists below. */
  let mark: Mark
  /** Those who are passed over now. */
  let passed = new Map<string, Mark>()
  /** Those who are taken up again, and may still have jobs from before `mark`. */
  const behind = new Map<string, Mark>()
  let fullLookAtMs = Number.NEGATIVE_INFINITY
  let lateLookAtMs = Number.NEGATIVE_INFINITY
  return {
    from(except, nowMs) {
      const now = new Map<string, Mark>()
      for (const id of except) {
        const known = [passed, behind].find((marks) => marks.has(id))
        now.set(id, known ? known.get(id) : mark)
        behind.delete(id)
      }
      let isLateLook = nowMs - lateLookAtMs >= LATE_LOOK_MS
      for (const [id, own] of passed) {
        if (now.has(id) || mark === undefined || (own !== undefined && own >= mark)) continue
        behind.set(id, own)
        isLateLook = true
      }
      passed = now
      if (now.size + behind.size === 0 || nowMs - fullLookAtMs >= FULL_LOOK_MS) {
        mark = undefined
        fullLookAtMs = nowMs
      }
      const start = earliest([mark, ...behind.values()])
      if (start === undefined) return undefined
      if (isLateLook) lateLookAtMs = nowMs
      return new Date(start.getTime() - (isLateLook ? LATE_COMMIT_MS : COMMIT_MS))
    },
    takenUp: () => [...behind.keys()],
    until(time) {
      if (passed.size + behind.size === 0) return
      if (mark === undefined || time >= mark) {
        mark = time
        behind.clear()
      } else for (const id of behind.keys()) behind.set(id, time)
    },
  }
}

function earliest(marks: readonly Mark[]): Mark {
  const known = marks.filter((mark) => mark !== undefined)
  if (known.length < marks.length) return undefined
  return new Date(Math.min(...known.map((mark) => mark.getTime())))
}
