import { readConfig } from '../../src/config/index.js'
import type { RetryPolicy } from '../../src/delivery/orchestrator/retry-policy.js'

const config = readConfig({})

/** [O4] What holds when nothing is configured. */
export const defaultRetryPolicy: RetryPolicy = {
  baseDelayMs: config.retryBaseDelayMs,
  maxDelayMs: config.retryMaxDelayMs,
  retryAfterMaxS: config.retryAfterMaxMs / 1_000,
  limit: config.retryLimit,
}
