/**
 * A job's time is that of its transaction's start. One that commits within this time is found by the next look, a later
 * one by the next that goes further back. Each look goes through all that has become free since then: with 20,000
 * jobs that one endpoint had got at once, 12 ms for each look at the last two seconds.
 */
const LOOK_BACK_MS = 100
/** A few times a second a look goes back this far. */
const LATE_LOOK_BACK_MS = 2_000
const LATE_LOOK_EVERY_MS = 250
/** Every so often the whole backlog is looked at: for what committed even later. */
const FULL_LOOK_EVERY_MS = 5_000

/**
 * How far a worker has looked past the jobs of subscriptions that it takes none for. Without this every claim would
 * go through the whole backlog of a paused endpoint, which stands at the head of the index, to find the others' work.
 */
export interface PassedOver {
  /** Where a claim is to look, given whom it passes over. */
  from(except: readonly string[], nowMs: number): Look
  /** Up to where that claim has looked. */
  until(time: Date): void
}

interface Look {
  /** Undefined: from the beginning. */
  freeSince: Date | undefined
  /** Those who are not passed over any more: nobody knows how many of their jobs stand ahead of all others. */
  takenUp: string[]
}

/** Up to where somebody's jobs were looked at; undefined: none of them. */
type Mark = Date | undefined

export function createPassedOver(): PassedOver {
  /** Of all who are not in the lists below. */
  let mark: Mark
  /** Those who are passed over. */
  let passed = new Map<string, Mark>()
  /** Those who are taken up again, and may still have jobs from before `mark`. */
  const behind = new Map<string, Mark>()
  let fullLookAtMs = Number.NEGATIVE_INFINITY
  let lateLookAtMs = Number.NEGATIVE_INFINITY
  /** When the look that is under way began, if it goes back far enough to count as a late one. */
  let lateLookFromMs: number | undefined

  return {
    from(except, nowMs) {
      const passedNow = new Map<string, Mark>()
      for (const id of except) {
        const known = [passed, behind].find((marks) => marks.has(id))
        passedNow.set(id, known ? known.get(id) : mark)
        behind.delete(id)
      }
      let isLate = nowMs - lateLookAtMs >= LATE_LOOK_EVERY_MS
      for (const [id, own] of passed) {
        if (passedNow.has(id) || mark === undefined || (own !== undefined && own >= mark)) continue
        behind.set(id, own)
        isLate = true
      }
      passed = passedNow
      if (passed.size + behind.size === 0 || nowMs - fullLookAtMs >= FULL_LOOK_EVERY_MS) {
        mark = undefined
        // Those who are passed over now get theirs when they are taken up again.
        for (const id of passed.keys()) passed.set(id, undefined)
        fullLookAtMs = nowMs
      }
      lateLookFromMs = isLate ? nowMs : undefined
      const start = earliest([mark, ...behind.values()])
      const lookBackMs = isLate ? LATE_LOOK_BACK_MS : LOOK_BACK_MS
      return {
        freeSince: start && new Date(start.getTime() - lookBackMs),
        takenUp: [...behind.keys()],
      }
    },
    until(time) {
      if (passed.size + behind.size === 0) return
      if (mark !== undefined && time < mark && behind.size > 0) {
        // It ended before the others' mark, in the backlog of somebody who is behind.
        for (const [id, own] of behind) if (own === undefined || own < time) behind.set(id, time)
        return
      }
      // Or before the mark, in what had committed late: from there it goes on.
      mark = time
      behind.clear()
      lateLookAtMs = lateLookFromMs ?? lateLookAtMs
    },
  }
}

function earliest(marks: readonly Mark[]): Mark {
  return marks.reduce((first, mark) => first && mark && (mark < first ? mark : first))
}
