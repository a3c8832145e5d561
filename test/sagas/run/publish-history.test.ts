import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { sagaMachine, sagaStepMachine } from '../../../src/model/index.js'
import { toHistoryEvent } from '../../../src/sagas/history-events.js'
import {
  createMemoryStorage,
  createPostgresStorage,
  resolveSaga,
  type StateStorage,
  saga,
  startSaga,
} from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { useDatabase } from '../../support/database.js'
import { codeOf } from '../../support/refusal.js'
import { createCommandedCoordinator } from '../commanded-coordinator.js'

const database = useDatabase()
const once = { maxAttempts: 1 } as const
const never = () => Promise.reject(new NonRetryableError('the card 4711 was declined', { code: 'declined' }))

/** One definition for each way that a saga can end. */
const shapes = {
  completed: saga('completed', { publish: true })
    .step('a', { run: () => 1 })
    .step('skipped', { when: () => false, run: () => 2 })
    .parallel({ b: { run: () => 3 }, c: { run: () => 4 } }),
  compensated: saga('compensated', { publish: true, retry: { maxAttempts: 2, initialInterval: '1ms' } })
    .step('a', { run: () => 1, compensate: () => {} })
    .step('b', { run: () => Promise.reject(new Error('not today')) }),
  timedOut: saga('timed-out', { publish: true, timeout: '30ms' }).sleep('nap', { for: '1h' }),
  stuck: saga('stuck', { publish: true, retry: once })
    .step('a', { run: () => 1, compensate: never })
    .step('b', { run: never }),
  parent: saga('parent', { publish: true }).child('c', {
    saga: saga('inner', { publish: true }).step('x', { run: () => 1 }),
    input: () => undefined,
  }),
}

async function run(storage: StateStorage, definition: (typeof shapes)[keyof typeof shapes]): Promise<string> {
  const coordinator = createCommandedCoordinator({
    storage,
    definitions: [definition],
    pollMs: 10,
    onError: (error) => {
      throw error
    },
  })
  try {
    const handle = await coordinator.start(definition as never, undefined as never)
    await handle.result()
    return handle.id
  } finally {
    await coordinator.stop()
  }
}

/** What is stored of a saga's history, in the order of the events' ids. */
async function storedOf(pool: pg.Pool, sagaId: string) {
  const { rows } = await pool.query(
    `SELECT event_type AS type, payload, traceparent FROM sagapost.events
     WHERE correlation_id = $1 AND event_type LIKE 'saga.%' ORDER BY id`,
    [sagaId],
  )
  return rows
}

/** The history as its events should be. */
async function expectedOf(storage: StateStorage, sagaId: string) {
  const saga = await storage.getSaga(sagaId)
  if (saga === undefined) throw new Error('there is no such saga')
  const steps = await storage.listSteps(sagaId)
  return (await storage.listEvents(sagaId)).map((entry) => toHistoryEvent({ saga, steps }, entry))
}

const app = () =>
  createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: database.pool })

async function expectPublished(sagaId: string) {
  const stored = await storedOf(database.pool, sagaId)
  const expected = await expectedOf(app(), sagaId)
  expect(stored.map(({ type, payload }) => ({ type, payload }))).toEqual(expected)
  expect(expected.length).toBeGreaterThan(0)
  for (const { payload, traceparent } of stored) {
    expect(traceparent).toBe(`00-${payload.traceId}-${payload.spanId}-01`)
  }
  return stored
}

describe('a saga that publishes', () => {
  it.each([
    ['completed', 'saga.completed'],
    ['compensated', 'saga.compensated'],
    ['timedOut', 'saga.timed_out'],
    ['stuck', 'saga.failed'],
    ['parent', 'saga.completed'],
  ] as const)(
    '[G6] and ends %s stores one event for each entry of its history, in its order',
    async (shape, last) => {
      const id = await run(app(), shapes[shape])
      const stored = await expectPublished(id)
      expect([stored[0].type, stored.at(-1).type]).toEqual(['saga.started', last])
      const text = JSON.stringify(stored)
      expect(text).not.toContain('the card 4711')
    },
  )

  it('[G6] stores the same in memory', async () => {
    const storage = createMemoryStorage()
    const id = await run(storage, shapes.compensated)
    const published = storage.published.map(({ type, payload }) => ({ type, payload }))
    expect(published).toEqual(await expectedOf(storage, id))
  })

  it("[G14] publishes a cancel and an operator's resolution from any writer, without names and free text", async () => {
    const definition = saga(`cancelled-${randomUUID()}`, { publish: true }).sleep('nap', { for: '1h' })
    const coordinator = createCommandedCoordinator({
      storage: app(),
      definitions: [definition],
      onError: () => {},
      pollMs: 10,
    })
    const handle = await coordinator.start(definition, undefined)
    await expect.poll(async () => (await app().getSaga(handle.id))?.state).toBe('Running')
    await coordinator.cancel(handle.id, { by: 'ann', reason: 'a mistake of mine' })
    expect((await handle.result()).state).toBe('Cancelled')
    await coordinator.stop()
    const stored = await expectPublished(handle.id)
    expect(stored.map(({ payload }) => payload.data)).toContainEqual({ action: 'cancel' })
    expect(JSON.stringify(stored)).not.toMatch(/ann|mistake/)

    const stuck = await run(app(), shapes.stuck)
    await resolveSaga(app(), stuck, { action: 'resolve', by: 'ann', why: 'paid by hand' })
    expect((await expectPublished(stuck)).at(-1).payload).toMatchObject({
      type: 'state.changed',
      data: { action: 'resolve' },
    })
  })

  it('[G14] sends nothing of a transaction that is rolled back, or whose fence is outdated', async () => {
    const definition = saga('rolled-back', { publish: true, retry: once }).transaction('a', {
      run: async ({ tx }) => {
        await tx.query('SELECT 1')
        throw new Error('rolled back')
      },
    })
    const client = await database.pool.connect()
    await client.query('BEGIN')
    const lease = {
      owner: 'me',
      leaseMs: 1_000,
      events: [{ type: 'saga.started', stepIndex: null, oldState: 0, newState: 1 }],
    } as const
    const { saga: lost } = await startSaga(app(), definition, undefined, { tx: client as never, lease })
    await client.query('ROLLBACK')
    client.release()
    expect(await storedOf(database.pool, lost.id)).toEqual([])

    const id = await run(app(), definition as never)
    const stored = await expectPublished(id)
    expect(stored.map(({ type }) => type)).not.toContain('saga.step.completed')
    const late = (await app().getSaga(id)) as NonNullable<Awaited<ReturnType<StateStorage['getSaga']>>>
    const [outcome] = await app().write(
      [
        {
          ...{
            sagaId: id,
            owner: null,
            version: late.version - 1,
            state: 'Compensating',
            currentStep: 0,
            error: null,
          },
          ...{ awaitingOperator: false, steps: [] },
          events: [{ type: 'state.changed', stepIndex: null, oldState: 4, newState: 4 }],
        },
      ],
      0,
    )
    expect(outcome).toEqual({ applied: false })
    expect(await storedOf(database.pool, id)).toHaveLength(stored.length)
  })

  it('[O2] is the only one that does, and stays so', async () => {
    const silent = saga('silent').step('a', { run: () => 1 })
    const id = await run(app(), silent as never)
    expect(await storedOf(database.pool, id)).toEqual([])
    const { saga: open } = await startSaga(app(), silent, undefined)
    const change = database.pool.query('UPDATE sagapost.saga_instances SET publishes = true WHERE id = $1', [
      open.id,
    ])
    expect(await codeOf(change)).toBe('identity_is_frozen')
    expect(() => saga('x', { publish: 'yes' as never })).toThrow('publish must be true or false')
  })
})

it('[G1, G2] the names of the states in the database are those of the state machines', async () => {
  const { rows } = await database.pool.query(
    `SELECT prosrc FROM pg_proc WHERE oid = 'sagapost.publish_saga_history'::regproc`,
  )
  const lists = [...rows[0].prosrc.matchAll(/ARRAY\[([^\]]*)\]/g)].map(([, list]) =>
    [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name),
  )
  expect(lists).toEqual([sagaMachine.statuses, sagaStepMachine.statuses])
})
