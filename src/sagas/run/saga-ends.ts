import { SagapostError } from '../../errors/index.js'
import { isFinal, sagaMachine } from '../../model/index.js'
import type { SagaRecord } from '../records.js'
import type { StateStorage } from '../storage/index.js'

interface Waiter {
  readonly resolve: (saga: SagaRecord) => void
  readonly reject: (error: unknown) => void
}

export interface SagaEnds {
  /** Waits until the saga is finished or Failed. A Running saga that waits for an operator may still continue. */
  wait(id: string): Promise<SagaRecord>
  /** Reports that a saga has ended, with its record if known. */
  tell(id: string, saga?: SagaRecord): Promise<void>
  /** Checks all awaited sagas that do not run here, by one statement. */
  look(): Promise<void>
}

const hasEnded = (state: SagaRecord['state']) => isFinal(sagaMachine, state) || state === 'Failed'

/** Waits for the ends of sagas, wherever they run. */
export function createSagaEnds(storage: StateStorage, isRunning: (id: string) => boolean): SagaEnds {
  const waiters = new Map<string, Set<Waiter>>()

  const settle = (id: string, how: (waiter: Waiter) => void) => {
    const waiting = waiters.get(id) ?? []
    waiters.delete(id)
    for (const waiter of waiting) how(waiter)
  }

  const tell = async (id: string, known?: SagaRecord): Promise<void> => {
    if (!waiters.has(id)) return
    try {
      const saga = known ?? (await storage.getSaga(id))
      if (saga === undefined) settle(id, ({ reject }) => reject(gone(id)))
      else if (hasEnded(saga.state)) settle(id, ({ resolve }) => resolve(saga))
    } catch (error) {
      // Its data can never be read; after any other error the next look tries again.
      if (!(error instanceof SagapostError)) throw error
      settle(id, ({ reject }) => reject(error))
    }
  }

  return {
    tell,
    async look() {
      const ids = [...waiters.keys()].filter((id) => !isRunning(id))
      if (ids.length === 0) return
      const states = await storage.readStates(ids)
      for (const id of ids) {
        const state = states.get(id)
        if (state === undefined) settle(id, ({ reject }) => reject(gone(id)))
        else if (hasEnded(state)) await tell(id)
      }
    },
    wait: (id) =>
      new Promise((resolve, reject) => {
        waiters.set(id, (waiters.get(id) ?? new Set()).add({ resolve, reject }))
      }),
  }
}

function gone(id: string): SagapostError {
  return new SagapostError(
    'saga_not_found',
    `There is no saga ${id}: it was removed, or the transaction that starts it has not been committed`,
  )
}
