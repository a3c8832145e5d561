import pg from 'pg'
import type { NewSaga } from '../records.js'
import type { StartOutcome, StateStorage } from '../storage/index.js'
import { gatherBatches } from './gather-batches.js'

const BATCH_MAX = 32

interface Waiting {
  readonly saga: NewSaga
  readonly settle: (outcome: StartOutcome | Promise<StartOutcome>) => void
  readonly fail: (error: unknown) => void
}

/**
 * Starts that come at the same time share commits. One with a key goes alone: it waits while another transaction holds
 * the key, and nobody else shall. When the database refuses a batch, each is tried alone, so that a bad one spoils no
 * other; after any other error nobody knows whether it was committed, and every caller is told.
 */
export function createBatchedStarts(storage: StateStorage): Pick<StateStorage, 'startSaga'> {
  const start = gatherBatches<Waiting>(BATCH_MAX, async (batch) => {
    try {
      const outcomes = await storage.startSagas(batch.map(({ saga }) => saga))
      for (const [place, { settle }] of batch.entries()) settle(outcomes[place] as StartOutcome)
    } catch (error) {
      const refused = error instanceof pg.DatabaseError && batch.length > 1
      for (const { saga, settle, fail } of batch) {
        if (refused) settle(storage.startSaga(saga))
        else fail(error)
      }
    }
  })
  return {
    startSaga(saga, tx) {
      if (tx !== undefined || saga.idempotencyKey !== null) return storage.startSaga(saga, tx)
      return new Promise((settle, fail) => start({ saga, settle, fail }))
    },
  }
}
