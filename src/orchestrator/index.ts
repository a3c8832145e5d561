export { applyResults } from './apply-results.js'
export { applyResult, type DeliveryState, retryDelayMs, takeUp } from './decide-delivery.js'
export { makeJobs } from './make-jobs.js'
export { defaultRetryPolicy, type RetryPolicy } from './retry-policy.js'
