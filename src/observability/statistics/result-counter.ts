import { bucketOf, DURATION_BUCKETS } from './duration-buckets.js'

/** What was applied since the last write, of one subscription or of all. */
export interface ResultCounts {
  subscriptionId: string
  succeeded: number
  failed: number
  deadLettered: number
  durations: number[]
  lastErrorCode: string | null
}

interface AppliedAttempt {
  subscriptionId: string
  status: 'Completed' | 'PendingRetry' | 'DeadLettered'
  errorCode: string | null
  /** Null when nothing was sent, or the worker died before it reported. */
  durationMs: number | null
}

/** Stands for all subscriptions together. */
export const ALL_SUBSCRIPTIONS = '0'

export interface ResultCounter {
  count(attempt: AppliedAttempt): void
  /** A delivery that ended without another attempt. */
  countDead(subscriptionId: string): void
  /** The counts, those of all subscriptions together first. Rows beyond the limit stay for the next call. */
  take(rowsMax: number): ResultCounts[]
  /** Returns counts that could not be written. */
  putBack(counts: readonly ResultCounts[]): void
}

/** Counts in memory, so that a delivery costs a few additions and no statement. */
export function createResultCounter(): ResultCounter {
  const all = new Map<string, ResultCounts>()

  const of = (subscriptionId: string): ResultCounts => {
    const known = all.get(subscriptionId)
    if (known) return known
    const durations = new Array<number>(DURATION_BUCKETS).fill(0)
    const made = { subscriptionId, succeeded: 0, failed: 0, deadLettered: 0, durations, lastErrorCode: null }
    all.set(subscriptionId, made)
    return made
  }

  return {
    count({ subscriptionId, status, errorCode, durationMs }) {
      const bucket = durationMs === null ? null : bucketOf(durationMs)
      for (const counts of [of(ALL_SUBSCRIPTIONS), of(subscriptionId)]) {
        if (status === 'Completed') counts.succeeded += 1
        else {
          counts.failed += 1
          counts.lastErrorCode = errorCode
        }
        if (status === 'DeadLettered') counts.deadLettered += 1
        if (bucket !== null) counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1
      }
    },
    countDead(subscriptionId) {
      for (const id of [ALL_SUBSCRIPTIONS, subscriptionId]) of(id).deadLettered += 1
    },
    take(rowsMax) {
      const taken = [...all.values()].slice(0, rowsMax)
      for (const { subscriptionId } of taken) all.delete(subscriptionId)
      return taken
    },
    putBack(counts) {
      for (const each of counts) {
        const known = of(each.subscriptionId)
        known.succeeded += each.succeeded
        known.failed += each.failed
        known.deadLettered += each.deadLettered
        known.lastErrorCode ??= each.lastErrorCode
        for (const [bucket, count] of each.durations.entries()) {
          known.durations[bucket] = (known.durations[bucket] ?? 0) + count
        }
      }
    },
  }
}
