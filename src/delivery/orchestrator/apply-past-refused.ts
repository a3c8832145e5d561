import type pg from 'pg'
import type { WorkWindow } from '../../database/index.js'
import { type AppliedBatch, applyResults, applyRow, ResultsRefused } from './apply-results.js'
import type { RetryPolicy } from './retry-policy.js'

/** A row that was refused is tried again after this. */
const TRY_AGAIN_MS = 60_000

export interface ResultApplierOptions {
  batchMax: number
  policy: RetryPolicy
  window: () => WorkWindow
  onRefused: (queueId: string, error: Error) => void
}

/**
 * Applies results so that one which the database refuses holds up its own row of the queue and no other: a delivery that
 * cannot be dead-lettered, say, because its event's partition was dropped.
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
        // What else goes wrong is the next round's: those before are applied, and told of.
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
