/** Of this many recent outcomes … */
export interface OutcomeLimits {
  outcomes: number
  /** … at least this many are failures, … */
  failures: number
  /** … and all of them fall within this time. */
  withinMs: number
}

/**
 * The recent outcomes of endpoints that fail at the moment, from the first failure on. An endpoint whose recent
 * outcomes are all successes keeps none, so it costs nothing.
 */
export interface RecentOutcomes {
  /** Returns true when enough of the recent outcomes are failures to stop sending. */
  add(subscriptionId: string, failed: boolean, nowMs: number): boolean
  /** Whether more than half of the recent outcomes are failures. */
  isMostlyFailing(subscriptionId: string): boolean
  forget(subscriptionId: string): void
  /** Forgets endpoints whose last outcome is too old to count. */
  forgetOld(nowMs: number): void
}

interface Outcome {
  failed: boolean
  atMs: number
}

export function createRecentOutcomes(limits: OutcomeLimits): RecentOutcomes {
  // Ordered by the time of the last outcome.
  const kept = new Map<string, Outcome[]>()
  const failuresOf = (outcomes: readonly Outcome[]) => outcomes.filter(({ failed }) => failed).length

  return {
    add(id, failed, nowMs) {
      const outcomes = kept.get(id) ?? []
      if (outcomes.length === 0 && !failed) return false
      outcomes.push({ failed, atMs: nowMs })
      if (outcomes.length > limits.outcomes) outcomes.shift()
      kept.delete(id)
      const failures = failuresOf(outcomes)
      if (failures === 0) return false
      kept.set(id, outcomes)
      const [oldest] = outcomes
      const isRecent = oldest !== undefined && nowMs - oldest.atMs <= limits.withinMs
      return failed && outcomes.length === limits.outcomes && failures >= limits.failures && isRecent
    },
    isMostlyFailing(id) {
      const outcomes = kept.get(id) ?? []
      return failuresOf(outcomes) * 2 > outcomes.length
    },
    forget: (id) => void kept.delete(id),
    forgetOld(nowMs) {
      for (const [id, outcomes] of kept) {
        const last = outcomes.at(-1)
        if (last !== undefined && nowMs - last.atMs <= limits.withinMs) return
        kept.delete(id)
      }
    },
  }
}
