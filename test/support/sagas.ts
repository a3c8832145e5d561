import type pg from 'pg'
import {
  createCoordinator,
  createPostgresStorage,
  type SagaDefinition,
  saga,
  startSaga,
} from '../../src/sagas/index.js'

const once = { maxAttempts: 1 } as const

/** Its first step cannot be undone and its second one fails: it ends as Failed, and waits for an operator. */
const stuck = saga<{ order: number }>('stuck', { retry: once })
  .step('charge', {
    run: ({ input }) => ({ paid: input.order }),
    compensate: () => refuse('the bank is closed'),
  })
  .step('ship', { run: () => refuse('no stock') })

const refuse = (message: string) => Promise.reject(Object.assign(new Error(message), { code: 'refused' }))

/** Pending, because no coordinator runs it. */
export async function insertSaga(
  pool: pg.Pool,
  { definition = 'idle', traceId }: { definition?: string; traceId?: string } = {},
): Promise<string> {
  const idle = saga<{ order: number }>(definition).step('wait', { run: () => 0 })
  const storage = createPostgresStorage({ pool })
  const { saga: made } = await startSaga(storage, idle, { order: 7 }, traceId ? { traceId } : {})
  return made.id
}

export const insertStuckSaga = (pool: pg.Pool) => runSaga(pool, stuck, { order: 7 })

/** Runs a saga to its end and tells its id. */
export async function runSaga(pool: pg.Pool, definition: SagaDefinition, input: unknown): Promise<string> {
  const coordinator = createCoordinator({
    storage: createPostgresStorage({ pool }),
    definitions: [definition],
    onError: (error) => {
      throw error
    },
  })
  try {
    const handle = await coordinator.start(definition as never, input as never)
    await handle.result()
    return handle.id
  } finally {
    await coordinator.stop()
  }
}
