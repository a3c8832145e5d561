/**
 * While a worker is busy, it claims only when this share of its slots is free, or when the last claim is long enough
 * ago: this justifies the statement and its commit. Slots reserved for new subscriptions may be idle then, without a
 * longer wait for them.
 */
const CLAIM_SHARE = 0.5
const CLAIM_EVERY_MS = 50
/**
 * A claim's cost grows with the subscriptions it skips: 10,000 of them cost some 10 ms here and in the database. When a
 * claim leaves room, the next one waits one ms per this many skipped subscriptions.
 */
const PASSED_OVER_PER_MS = 50
/** Batch size while most of what a claim brings has to be released. */
const CROWD_BATCH = 10

export interface ClaimSpacing {
  /** Whether to claim for this much room now; on true, the caller claims. */
  mayClaim(room: number, nowMs: number): boolean
  /** How many jobs to claim for this much room. */
  batchMax(room: number): number
  /**
   * Records how many jobs a claim brought and how many of them were released; returns true when these are the majority.
   */
  brought(jobs: number, refused: number): boolean
  /** Records that the last claims left room, and how many subscriptions they skipped. */
  foundFew(passedOver: number, nowMs: number): void
  /** Time until a claim for this much room is allowed; infinite when it is allowed now. */
  lookInMs(room: number, nowMs: number): number
}

export function createClaimSpacing(concurrency: number): ClaimSpacing {
  const roomMin = Math.ceil(concurrency * CLAIM_SHARE)
  let nextAtMs = Number.NEGATIVE_INFINITY
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let isWithheld = false
  let isCrowded = false
  return {
    mayClaim(room, nowMs) {
      isWithheld = room > 0 && nowMs < notBeforeMs
      if (isWithheld || room === 0 || (room < roomMin && nowMs < nextAtMs)) return false
      nextAtMs = nowMs + CLAIM_EVERY_MS
      return true
    },
    batchMax: (room) => (isCrowded ? Math.min(room, CROWD_BATCH) : room),
    brought(jobs, refused) {
      isCrowded = refused > 0 && refused * 2 >= jobs
      return isCrowded
    },
    foundFew(passedOver, nowMs) {
      // More jobs of the same subscriptions wait, and no wake-up announces them.
      isWithheld = isCrowded
      notBeforeMs = nowMs + passedOver / PASSED_OVER_PER_MS
    },
    lookInMs(room, nowMs) {
      if (room === 0) return Number.POSITIVE_INFINITY
      if (room < roomMin) return Math.max(0, nextAtMs - nowMs, notBeforeMs - nowMs)
      return isWithheld ? Math.max(0, notBeforeMs - nowMs) : Number.POSITIVE_INFINITY
    },
  }
}
