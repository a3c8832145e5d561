import { setTimeout as sleep } from 'node:timers/promises'
import type { NonRetryableError, saga } from '../../src/index.js'

export interface Order {
  order: number
  /** It cannot be shipped, and everything is undone. */
  refused: boolean
}

/** Of the built package, so that the definition belongs to the code that runs it. */
interface SagaFace {
  saga: typeof saga
  NonRetryableError: typeof NonRetryableError
}

export const EFFECTS_TABLE = `
  CREATE TABLE IF NOT EXISTS public.fault_effects (saga_order bigint NOT NULL, what text NOT NULL)`

const noteEffect = 'INSERT INTO public.fault_effects (saga_order, what) VALUES ($1, $2)'

/** Three steps, one of them a transaction, whose traces can be counted: exactly once each. */
export function defineSagas({ saga, NonRetryableError }: SagaFace) {
  return saga<Order>('fault-order', { version: 1, timeout: '10m' })
    .step('reserve', {
      retry: { maxAttempts: 20, initialInterval: '100ms', maxInterval: '1s' },
      run: async ({ input }) => {
        await sleep(5)
        return { reserved: input.order }
      },
      compensate: () => sleep(1),
    })
    .transaction('book', {
      retry: { maxAttempts: 20, initialInterval: '100ms', maxInterval: '1s' },
      run: async ({ tx, input }) => {
        await tx.query(noteEffect, [input.order, 'booked'])
        return { booked: true }
      },
    })
    .step('ship', {
      retry: { maxAttempts: 20, initialInterval: '100ms', maxInterval: '1s' },
      run: async ({ input }) => {
        await sleep(5)
        if (input.refused) throw new NonRetryableError('nobody delivers there', { code: 'out_of_reach' })
        return { shipped: input.order }
      },
    })
}
