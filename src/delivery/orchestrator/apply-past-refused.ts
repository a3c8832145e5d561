import type pg from 'pg'
import type { WorkWindow } from '../../database/index.js'
import { type AppliedBatch, applyResults, applyRow, ResultsRefused } from './apply-results.js'
import type { RetryPolicy } from './retry-policy.js'

/** How long a refused row waits before it is tried again. */
const TRY_AGAIN_MS = 60_000

export interface ResultApplierOptions {
  batchMax: number
  policy: RetryPolicy
  window: () => WorkWindow
  onRefused: (queueId: string, error: Error) => void
}

/**
 * Applies results so that a result which the database refuses delays only its own row of the queue: for example, a
 * delivery that cannot be dead-lettered because its event's partition was dropped.
 */
export function createResultApplier(
  pool: pg.Pool,
  { batchMax, policy, window, onRefused }: ResultApplierOptions,
): { apply(): Promise<AppliedBatch> } {
  const refusedUntilMs = new Map<string, number>()

  async function applyOneByOne(queueIds: readonly string[]): Promise<AppliedBatch> {
    const results: AppliedBatch['results'] = []
    for (const id of queueIds) {
      try {
        results.push(...(await applyRow(pool, id, { policy, window })).results)
      } catch (error) {
        // Any other error is left to the next round; the results before it are applied and reported.
        if (!(error instanceof ResultsRefused)) break
        refusedUntilMs.set(id, performance.now() + TRY_AGAIN_MS)
        onRefused(id, error)
      }
    }
    return { results, more: true }
  }

  return {
    async apply() {
      for (const [id, untilMs] of refusedUntilMs) if (untilMs <= performance.now()) refusedUntilMs.delete(id)
      try {
        return await applyResults(pool, { batchMax, policy, window, except: [...refusedUntilMs.keys()] })
      } catch (error) {
        if (error instanceof ResultsRefused) return applyOneByOne(error.queueIds)
        throw error
      }
    },
  }
}
