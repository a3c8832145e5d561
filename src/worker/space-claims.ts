/**
 * While a worker is busy, a claim is worth its statement and its commit for this share of the slots, or when the one
 * before was so long ago. Slots may be idle then, kept for subscriptions that have nothing yet: these wait no longer.
 */
const CLAIM_SHARE = 0.5
const CLAIM_EVERY_MS = 50

export interface ClaimSpacing {
  /** Whether to claim for this much room now; who is told yes claims. */
  mayClaim(room: number, nowMs: number): boolean
  /** When it may be claimed for this much room, if that is not now. */
  lookInMs(room: number, nowMs: number): number
}

export function spaceClaims(concurrency: number): ClaimSpacing {
  const roomMin = Math.ceil(concurrency * CLAIM_SHARE)
  let nextAtMs = Number.NEGATIVE_INFINITY
  return {
    mayClaim(room, nowMs) {
      if (room === 0 || (room < roomMin && nowMs < nextAtMs)) return false
      nextAtMs = nowMs + CLAIM_EVERY_MS
      return true
    },
    lookInMs: (room, nowMs) =>
      room === 0 || room >= roomMin ? Number.POSITIVE_INFINITY : Math.max(0, nextAtMs - nowMs),
  }
}
