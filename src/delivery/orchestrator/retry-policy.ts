/** [S14] The numbers behind every retry. */
export interface RetryPolicy {
  baseDelayMs: number
  maxDelayMs: number
  /** The longest that a receiver's Retry-After is heeded. */
  retryAfterMaxS: number
  /** Attempts before a delivery is dead-lettered, unless its subscription says otherwise [S15]. */
  limit: number
}
