import { ROUND_SPACING_MS } from './space-rounds.js'

/** The distance of full rounds while workers have a backlog: at most 10,000 deliveries a second for each process. */
const FULL_ROUND_EVERY_MS = 50

/** A round past the backlog that brings more than this has met other bursts, which can wait for as long. */
const PASSING_FEW = 50

export interface BulkPace {
  /** Whether the last full round left more. */
  hasMore(): boolean
  /** In how long the next full round is due; 0: now. */
  dueInMs(): number
  /** A full round that began at this time has ended, and left more or not. */
  ended(startedAtMs: number, more: boolean): void
  /** What a round past the backlog brought. */
  passed(count: number): void
  /** From the beginning of one round past the backlog to that of the next. */
  passingSpacingMs(): number
}

/**
 * Moves a burst no faster than the workers need it. To move it sooner takes CPU from the requests that are being sent and
 * from the deliveries that pass it.
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
    passingSpacingMs: () => (passedCount > PASSING_FEW ? FULL_ROUND_EVERY_MS : ROUND_SPACING_MS),
  }
}
