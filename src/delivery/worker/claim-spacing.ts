/**
 * While a worker is busy, a claim is worth its statement and its commit for this share of the slots, or when the one
 * before was so long ago. Slots may be idle then, kept for subscriptions that have nothing yet: these wait no longer.
 */
const CLAIM_SHARE = 0.5
const CLAIM_EVERY_MS = 50
/**
 * A claim costs by the subscriptions that it passes over: 10,000 of them some 10 ms here and in the database. When it
 * found less than there is room for, the next one waits a ms for so many of them.
 */
const PASSED_OVER_PER_MS = 50
/** While most of what a claim brings has to go back, it brings so few. */
const CROWD_BATCH = 10

export interface ClaimSpacing {
  /** Whether to claim for this much room now; who is told yes claims. */
  mayClaim(room: number, nowMs: number): boolean
  /** How many jobs to claim for this much room. */
  batchMax(room: number): number
  /** What a claim brought, and how much of it was not worth holding; true when that is most of it. */
  brought(jobs: number, refused: number): boolean
  /** The last claims left room, and passed over so many subscriptions. */
  foundFew(passedOver: number, nowMs: number): void
  /** When it may be claimed for this much room, if that is not now. */
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
      // Of a crowd there is more, which no wake-up tells of.
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
