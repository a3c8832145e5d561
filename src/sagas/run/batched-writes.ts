import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { SagaChange } from '../records.js'
import type { StateStorage, WriteOutcome } from '../storage/index.js'
import { gatherBatches } from './gather-batches.js'
import { wasApplied } from './was-applied.js'

const BATCH_MAX = 32
const RETRY_PAUSE_MS = 50
const RETRY_PAUSE_MS_MAX = 1_000

/** Connection, resources, server shutdown: a retry may succeed. Any other error is final. */
const TRANSIENT = /^(08|40|53|55|57|58)/

interface Waiting {
  readonly change: SagaChange
  readonly settle: (outcome: WriteOutcome) => void
  readonly fail: (error: unknown) => void
}

export interface BatchedWrites {
  write(change: SagaChange): Promise<WriteOutcome>
  /** Ends the retries: writes that keep failing fail with their last error. */
  giveUp(): void
}

/**
 * Writes in batches. A batch that fails is split, so that an invalid change fails no other; a write that failed for
 * want of a database is retried for up to the length of a lease. The fencing token tells whether a failed write was
 * committed after all.
 */
export function createBatchedWrites(storage: StateStorage, leaseMs: number): BatchedWrites {
  let givenUp = false

  const add = gatherBatches<Waiting>(BATCH_MAX, async (batch) => {
    try {
      const outcomes = await storage.write(
        batch.map(({ change }) => change),
        leaseMs,
      )
      for (const [place, { settle }] of batch.entries()) settle(outcomes[place] ?? { applied: false })
    } catch (error) {
      // In parallel with later batches: a locked row does not delay the others.
      for (const waiting of batch) void writeAlone(waiting, error)
    }
  })

  const writeAlone = async ({ change, settle, fail }: Waiting, first: unknown): Promise<void> => {
    let error = first
    let pauseMs = RETRY_PAUSE_MS
    const endsAt = performance.now() + leaseMs
    // In a batch, the error may be another change's.
    for (let alone = false; !givenUp && performance.now() < endsAt; alone = true) {
      if (alone && !isTransient(error)) break
      if (alone) await pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, RETRY_PAUSE_MS_MAX)
      try {
        const [outcome = { applied: false as const }] = await storage.write([change], leaseMs)
        return settle(outcome.applied ? outcome : await wasApplied(storage, change))
      } catch (failure) {
        error = failure
      }
    }
    fail(error)
  }

  return {
    write: (change) => new Promise((settle, fail) => add({ change, settle, fail })),
    giveUp() {
      givenUp = true
    },
  }
}

function isTransient(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || TRANSIENT.test(error.code ?? '')
}
