import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { gatherBatches } from './gather-batches.js'
import { ownEventCount, type SagaChange } from './records.js'
import type { StateStorage, WriteOutcome } from './state-storage.js'

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
export function batchWrites(storage: StateStorage, leaseMs: number): BatchedWrites {
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
        return settle(outcome.applied ? outcome : await wasApplied(change))
      } catch (failure) {
        error = failure
      }
    }
    fail(error)
  }

  const wasApplied = async (change: SagaChange): Promise<WriteOutcome> => {
    const saga = await storage.getSaga(change.sagaId)
    const owner = change.release ? null : change.owner
    if (saga?.version !== change.version + 1 || saga.leaseOwner !== owner) return { applied: false }
    // A claim by this coordinator itself looks the same, but tells no events.
    const told = change.eventsBefore === undefined ? undefined : change.eventsBefore + change.events.length
    if (told !== undefined && ownEventCount(saga) !== told) return { applied: false }
    const { cancelRequestedAt, updatedAt: moment } = saga
    return { applied: true, cancelRequested: cancelRequestedAt !== null, overdue: false, moment }
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
