import type pg from 'pg'
import type { StepTransaction } from '../../src/sagas/definition.js'
import { createMemoryStorage, createPostgresStorage, type StateStorage } from '../../src/sagas/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'

export interface StorageUnderTest {
  readonly storage: StateStorage
  /** Moves the storage's clock. */
  moveMs(ms: number): Promise<void>
  /** Null in memory. */
  readonly pool: pg.Pool | null
}

/** Both storages, to be held to the same tests. Call the function inside of a describe. */
export const storages: Record<string, (memory?: { tx?: StepTransaction }) => StorageUnderTest> = {
  postgres() {
    const database = useDatabase()
    let installed: Promise<void> | undefined
    let storage: StateStorage | undefined
    return {
      get storage() {
        storage ??= createPostgresStorage({
          pool: database.as('saga_app_role'),
          transactionPool: database.pool,
        })
        return storage
      },
      get pool() {
        return database.pool
      },
      async moveMs(ms) {
        installed ??= installClock(database.pool)
        await installed
        await moveClock(database.pool, `${ms} ms`)
      },
    }
  },
  memory({ tx } = {}) {
    let shiftMs = 0
    const storage = createMemoryStorage({ now: () => Date.now() + shiftMs, ...(tx && { tx }) })
    return {
      storage,
      pool: null,
      async moveMs(ms) {
        shiftMs += ms
      },
    }
  },
}
