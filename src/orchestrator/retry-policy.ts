/** [S14, O4] The numbers behind every retry. */
export interface RetryPolicy {
  baseDelayMs: number
  maxDelayMs: number
  /** Attempts before a delivery is dead-lettered, unless its subscription says otherwise [S15]. */
  limit: number
}

export const defaultRetryPolicy: RetryPolicy = { baseDelayMs: 30_000, maxDelayMs: 3_600_000, limit: 5 }

/** The longest that a receiver's Retry-After is heeded. */
export const RETRY_AFTER_S_MAX = 86_400
