/** Of the parts that deliveries go through: short beside a request, long enough to gather a batch under load. */
export const ROUND_SPACING_MS = 10
/** The most that it grows to where nobody waits for what a round does. */
const ROUND_SPACING_MS_MAX = 100
/** A round that large and that long is worth a longer wait for the next one. */
const LARGE_BATCH = 100
const LONG_ROUND_MS = 5
/** For each ms that a round took longer than that, the next one waits so many more. */
const SPACING_PER_LATE_MS = 10

export interface RoundSpacing {
  /** What the round that has just ended did, and how long it took. */
  ended(items: number, tookMs: number): void
  /** From its beginning to that of the next one. */
  ms(): number
}

/**
 * A statement for many rows costs each of them less, so the rounds of router and orchestrator are further apart while
 * workers have more free jobs before them than they can hold: another job would only stand in line. Otherwise nothing is
 * held up: without this condition, p50 at 1,000 events/s was 85 ms in one run, and 39 with it in another.
 */
export function spaceRounds(hasBacklog: () => boolean): RoundSpacing {
  let spacingMs = ROUND_SPACING_MS
  return {
    ended(items, tookMs) {
      const lateMs = items < LARGE_BATCH ? 0 : Math.max(0, tookMs - LONG_ROUND_MS)
      spacingMs = Math.min(ROUND_SPACING_MS + SPACING_PER_LATE_MS * lateMs, ROUND_SPACING_MS_MAX)
    },
    ms: () => (hasBacklog() ? spacingMs : ROUND_SPACING_MS),
  }
}
