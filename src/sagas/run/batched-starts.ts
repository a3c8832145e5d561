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
 * Starts that arrive together share commits. A start with a key runs alone, because it may wait for another transaction
 * that holds the key. When the database refuses a batch, each start is tried alone, so that an invalid one fails no
 * other; after any other error the commit is uncertain, and every start fails.
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
