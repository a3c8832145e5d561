/** Interval between full rounds while workers have a backlog: limits each process to 10,000 deliveries a second. */
const FULL_ROUND_EVERY_MS = 50
/** The distance of rounds past the backlog: each costs PostgreSQL a ms or so, whatever it finds. */
const PASSING_EVERY_MS = 25

/** A round past the backlog that brings more than this has met another burst, which can wait as long. */
const PASSING_FEW = 50

export interface BulkPace {
  /** Whether the last full round left more work. */
  hasMore(): boolean
  /** Time until the next full round is due; 0 means now. */
  dueInMs(): number
  /** Records a full round that started at this time, and whether it left more work. */
  ended(startedAtMs: number, more: boolean): void
  /** Records what a round past the backlog brought. */
  passed(count: number): void
  /** Interval between the starts of two rounds past the backlog. */
  passingSpacingMs(): number
}

/**
 * Moves a burst no faster than the workers need it. Moving it sooner takes CPU from the requests being sent and from
 * the deliveries that pass it.
 */
export function createBulkPace(hasBacklog: () => boolean): BulkPace {
  let more = false
  let nextAtMs = 0
  let passedCount = 0
  return {
    hasMore: () => more,
    dueInMs: () => (more && hasBacklog() ? Math.max(0, nextAtMs - performance.now()) : 0),
    ended(startedAtMs, left) {
      more = left
      nextAtMs = startedAtMs + FULL_ROUND_EVERY_MS
    },
    passed(count) {
      passedCount = count
    },
    passingSpacingMs: () => (passedCount > PASSING_FEW ? FULL_ROUND_EVERY_MS : PASSING_EVERY_MS),
  }
}
