import type { RetryPolicy } from '../../../src/delivery/orchestrator/retry-policy.js'
import type { Stop } from '../../../src/delivery/orchestrator/stop-of.js'
import type { DeliveryStatus } from '../../../src/model/index.js'

/** What the orchestrator knows of a delivery. A model of its decisions, which the product makes in SQL. */
export interface DeliveryState {
  status: DeliveryStatus
  attemptCount: number
  nextAttemptAtMs: number
  finalErrorCode: string | null
}

export type JobResult =
  | { succeeded: true }
  | { succeeded: false; errorCode: string; retryAfterS: number | null }

type DelayPolicy = Omit<RetryPolicy, 'limit'>

export interface Circumstances {
  nowMs: number
  limit: number
  stop?: Stop | null
  policy: DelayPolicy
}

/**
 * [S13, S14, S17, S18] What a new result makes of a delivery in progress. A failure that reaches the limit goes
 * through PendingRetry to DeadLettered; only the end is told here. `apply-results.ts` does the same in SQL, for
 * hundreds at once; a property test compares the two.
 */
export function applyResult(
  state: DeliveryState,
  result: JobResult,
  { nowMs, limit, stop = null, policy }: Circumstances,
): DeliveryState {
  if (state.status !== 'InProgress') return state
  const attemptCount = state.attemptCount + 1
  if (result.succeeded) return { ...state, status: 'Completed', attemptCount, finalErrorCode: null }
  return {
    status: attemptCount < limit && stop === null ? 'PendingRetry' : 'DeadLettered',
    attemptCount,
    nextAttemptAtMs: nowMs + retryDelayMs(attemptCount, result.retryAfterS, policy),
    finalErrorCode: stop ?? result.errorCode,
  }
}

/** [S14] `attemptCount` is the count after the failure was added. */
function retryDelayMs(
  attemptCount: number,
  retryAfterS: number | null,
  { baseDelayMs, maxDelayMs, retryAfterMaxS }: DelayPolicy,
): number {
  const backoffMs = Math.min(baseDelayMs * 2 ** (attemptCount - 1), maxDelayMs)
  return Math.max(backoffMs, Math.min(retryAfterS ?? 0, retryAfterMaxS) * 1000)
}

/**
 * [S12, S15, S16] What becomes of a delivery that waits: a job (InProgress), the end, or nothing yet. One that is stopped
 * has a limit that it has reached, and ends before its time.
 */
export function takeUp(
  state: DeliveryState,
  { nowMs, limit, stop = null }: Pick<Circumstances, 'nowMs' | 'limit' | 'stop'>,
): DeliveryState {
  if (state.status === 'Pending') return { ...state, status: 'InProgress' }
  if (state.status !== 'PendingRetry') return state
  if (stop !== null) return { ...state, status: 'DeadLettered', finalErrorCode: stop }
  if (state.nextAttemptAtMs > nowMs) return state
  return { ...state, status: state.attemptCount < limit ? 'InProgress' : 'DeadLettered' }
}
