import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { SagaChange } from '../records.js'
import type { StateStorage, WriteOutcome } from '../storage/index.js'
import { gatherBatches } from './gather-batches.js'
import { wasApplied } from './was-applied.js'

const BATCH_MAX = 32
const RETRY_PAUSE_MS = 50
const RETRY_PAUSE_MS_MAX = 1_000

/** Connection, resources, the server's shutdown: the next try may succeed. Anything else says no for good. */
const TRANSIENT = /^(08|40|53|55|57|58)/

interface Waiting {
  readonly change: SagaChange
  readonly settle: (outcome: WriteOutcome) => void
  readonly fail: (error: unknown) => void
}

export interface BatchedWrites {
  write(change: SagaChange): Promise<WriteOutcome>
  /** Whoever waits for a write that keeps failing is told so. */
  giveUp(): void
}

/**
 * Writes in batches. A batch that fails is taken apart, so that a bad change spoils no other one's; a change whose write
 * failed for want of a database is tried again for as long as its lease can last. Whether a write that failed had been
 * committed all the same is read from the fencing token.
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
      // Beside the batches that follow: one whose row is locked keeps no other waiting.
      for (const waiting of batch) void writeAlone(waiting, error)
    }
  })

  const writeAlone = async ({ change, settle, fail }: Waiting, first: unknown): Promise<void> => {
    let error = first
    let pauseMs = RETRY_PAUSE_MS
    const endsAt = performance.now() + leaseMs
    // Together with others, any error may be another one's.
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
