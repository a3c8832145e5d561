/** [S14] The parameters of every retry. */
export interface RetryPolicy {
  baseDelayMs: number
  maxDelayMs: number
  /** The longest Retry-After that is honoured. */
  retryAfterMaxS: number
  /** Attempts before a delivery is dead-lettered, unless its subscription sets its own limit [S15]. */
  limit: number
}
