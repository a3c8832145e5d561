import { beforeAll, expect, it } from 'vitest'
import { createCoordinator, createPostgresStorage, saga } from '../../../../src/sagas/index.js'
import { loadSagas } from '../../../schema/general-sagas/load-sagas.js'
import { useDatabase } from '../../../support/database.js'

const database = useDatabase()
const TERMINAL = 100_000
const BATCH = 1_000

// 99 % of them are finished, 90 % of these Completed.
beforeAll(() =>
  loadSagas(database.pool, {
    instances: Math.ceil(TERMINAL / 0.99) + 10,
    definitions: 20,
    stepsPerSaga: 1,
    eventsPerSaga: 2,
    ids: 'growing',
  }),
)

const count = async (where: string) =>
  (await database.pool.query(`SELECT count(*)::int AS n FROM sagapost.saga_instances WHERE ${where}`)).rows[0]
    .n as number

it('[G8, G13] 100,000 finished sagas are removed in short transactions, and sagas start and finish meanwhile', async () => {
  const pool = database.as('saga_app_role')
  const storage = createPostgresStorage({ pool })
  const finished = await count('state IN (3, 5, 6, 7, 8)')
  const unfinished = await count('state IN (0, 1, 2, 4)')
  expect(finished).toBeGreaterThanOrEqual(TERMINAL)
  // What ends from now on is not of that age: whoever waits for it still finds it.
  const moment = new Date()

  // Not more than asked for, and nothing once it was told to stop.
  expect(await storage.cleanUpExpired(moment, { limit: 1_500, batch: BATCH })).toBe(1_500)
  expect(await storage.cleanUpExpired(moment, { signal: AbortSignal.abort() })).toBe(0)

  const batches: number[] = []
  const watched = createPostgresStorage({
    pool: {
      query: async (sql: string, values: unknown[]) => {
        const result = await pool.query(sql, values)
        batches.push(result.rowCount ?? 0)
        return result
      },
    } as never,
  })
  const definition = saga('meanwhile')
    .step('one', { run: () => 1 })
    .step('two', { run: () => 2 })
  const coordinator = createCoordinator({
    storage,
    definitions: [definition],
    onError: (error) => {
      throw error
    },
  })
  let over = false
  const cleaning = watched.cleanUpExpired(moment, { batch: BATCH }).finally(() => {
    over = true
  })
  let meanwhile = 0
  while (!over) {
    const handle = await coordinator.start(definition, undefined)
    expect((await handle.result()).state).toBe('Completed')
    if (!over) meanwhile++
  }
  await coordinator.stop()
  expect(await cleaning).toBe(finished - 1_500)
  expect(Math.max(...batches)).toBeLessThanOrEqual(BATCH)
  expect(batches.length).toBeGreaterThanOrEqual(TERMINAL / BATCH - 2)
  // The cleanup blocked nothing: sagas ran while batches were under way.
  expect(meanwhile).toBeGreaterThan(5)
  expect(await count(`state IN (0, 1, 2, 4)`)).toBe(unfinished)
  const { rows } = await database.pool.query(
    `SELECT count(*)::int AS orphans FROM sagapost.saga_events AS event
     WHERE NOT EXISTS (SELECT FROM sagapost.saga_instances WHERE id = event.saga_id)`,
  )
  expect(rows).toEqual([{ orphans: 0 }])
})
