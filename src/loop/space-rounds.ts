/** Of the parts that deliveries go through: short beside a request, long enough to gather a batch under load. */
export const ROUND_SPACING_MS = 10
/** The most that it grows to on a busy machine. */
const ROUND_SPACING_MS_MAX = 100
/** A batch that large says that there is much to do, and a round that long that the machine is busy with it. */
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
 * A statement for many rows costs each of them less, so rounds are further apart where nobody waits for them: when batches
 * are large and take long, the workers have more ahead of them than they can send. On a quiet machine, or with little to
 * do, nothing is held up.
 */
export function spaceRounds(): RoundSpacing {
  let spacingMs = ROUND_SPACING_MS
  return {
    ended(items, tookMs) {
      const lateMs = items < LARGE_BATCH ? 0 : Math.max(0, tookMs - LONG_ROUND_MS)
      spacingMs = Math.min(ROUND_SPACING_MS + SPACING_PER_LATE_MS * lateMs, ROUND_SPACING_MS_MAX)
    },
    ms: () => spacingMs,
  }
}
