/**
 * A job's time is its transaction's start, so a job may commit after a look has passed its time. Each look therefore
 * goes back this far, a few go back further. Looking back costs: with 20,000 jobs of one endpoint created at once, 12
 * ms for each look at the last two seconds.
 */
const LOOK_BACK_MS = 100
/** A few times a second, a look goes back this far. */
const LATE_LOOK_BACK_MS = 2_000
const LATE_LOOK_EVERY_MS = 250
/** At this interval, a look covers the whole backlog, for jobs that committed even later. */
const FULL_LOOK_EVERY_MS = 5_000

/**
 * How far a worker has looked past the jobs of subscriptions that it skips. Without this, each claim would scan the
 * backlog of a paused endpoint, which is first in the index, to reach other jobs.
 */
export interface PassedOver {
  /** Where a claim starts, given the subscriptions that it skips. */
  from(except: readonly string[], nowMs: number): Look
  /** Records how far that claim looked. */
  until(time: Date): void
}

interface Look {
  /** Undefined means from the beginning. */
  freeSince: Date | undefined
  /** Subscriptions that are no longer skipped: it is unknown how many of their jobs are ahead of all others. */
  takenUp: string[]
}

/** How far a subscription's jobs were examined; undefined when none were. */
type Mark = Date | undefined

export function createPassedOver(): PassedOver {
  /** The mark of all subscriptions that are not in the maps below. */
  let mark: Mark
  /** Subscriptions that are skipped. */
  let passed = new Map<string, Mark>()
  /** Subscriptions that are no longer skipped, and may still have jobs older than `mark`. */
  const behind = new Map<string, Mark>()
  let fullLookAtMs = Number.NEGATIVE_INFINITY
  let lateLookAtMs = Number.NEGATIVE_INFINITY
  /** When the current look started, if it goes back far enough to count as a late one. */
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
        // Subscriptions skipped now get their marks when they are no longer skipped.
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
        // The look ended before the others' mark, in the backlog of a subscription in `behind`.
        for (const [id, own] of behind) if (own === undefined || own < time) behind.set(id, time)
        return
      }
      // Or it ended before the mark, among jobs that committed late; the next look continues from there.
      mark = time
      behind.clear()
      lateLookAtMs = lateLookFromMs ?? lateLookAtMs
    },
  }
}

function earliest(marks: readonly Mark[]): Mark {
  return marks.reduce((first, mark) => first && mark && (mark < first ? mark : first))
}
