import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { createMemoryStorage, createPostgresStorage, saga, startSaga } from '../../../src/sagas/index.js'
import { useDatabase } from '../../support/database.js'
import { countLockWaiters } from '../../support/lock-waiters.js'
import { expectHistoryToReplay } from '../history.js'
import { useCoordinators } from '../use-coordinators.js'

const database = useDatabase()
const under = {
  get storage() {
    return createPostgresStorage({ pool: database.as('saga_app_role') })
  },
  pool: null,
  moveMs: () => Promise.reject(new Error('no clock is moved here')),
}
const { coordinate } = useCoordinators(under)
const { now } = performance

/** A foreign transaction that stays open while the work runs. */
async function whileOpen(begin: (client: pg.PoolClient) => Promise<unknown>, work: () => Promise<unknown>) {
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    await begin(client)
    await work()
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

const stateOf = async (id: string) => (await under.storage.getSaga(id))?.state
const waits = (id: string) =>
  expect
    .poll(async () => {
      const stored = await under.storage.getSaga(id)
      const [step] = await under.storage.listSteps(id)
      return stored?.leaseOwner === null && step?.state === 'Running'
    })
    .toBe(true)

const definitionOf = (name: string) =>
  saga<{ key: string }>(`${name}-${randomUUID().slice(0, 8)}`)
    .waitFor('news', { signal: name, key: ({ input }) => input.key })
    .step('read', { run: ({ outputs }) => outputs.news })

describe('a saga whose row is locked for long', () => {
  it('[O7] delays neither the news of others nor their claims, and its own news is not lost', async () => {
    const definition = definitionOf('locked')
    const plain = saga(`plain-${randomUUID()}`).step('one', { run: () => 1 })
    const coordinator = coordinate([definition, plain])
    const [held, free] = [randomUUID(), randomUUID()]
    const stuck = await coordinator.start(definition, { key: held })
    const other = await coordinator.start(definition, { key: free })
    for (const { id } of [stuck, other]) await waits(id)
    await whileOpen(
      (client) => client.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [stuck.id]),
      async () => {
        await coordinator.signal({ name: 'locked', key: held })
        await coordinator.signal({ name: 'locked', key: free })
        const { saga: fresh } = await startSaga(under.storage, plain, undefined)
        await expect.poll(() => stateOf(other.id), { timeout: 20_000 }).toBe('Completed')
        await expect.poll(() => stateOf(fresh.id), { timeout: 20_000 }).toBe('Completed')
        expect(await stateOf(stuck.id)).toBe('Running')
      },
    )
    await expect.poll(() => stateOf(stuck.id), { timeout: 20_000 }).toBe('Completed')
    await expectHistoryToReplay(under.storage, stuck.id)
    const { rows } = await database.pool.query('SELECT FROM sagapost.saga_wakeups')
    expect(rows).toEqual([])
  })

  it('[O7] that is being written at the moment is waited for, so that its news is not delayed', async () => {
    const definition = definitionOf('moment')
    const coordinator = coordinate([definition])
    const { id } = await coordinator.start(definition, { key: 'm' })
    await waits(id)
    await coordinator.stop()
    await under.storage.signal({ name: 'moment', key: 'm', payload: undefined })
    const passWhileWritten = async () => {
      let passed: Promise<unknown> | undefined
      let over = false
      await whileOpen(
        (client) => client.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [id]),
        async () => {
          passed = under.storage.passNewsOn(10).finally(() => {
            over = true
          })
          await expect
            .poll(async () => over || (await countLockWaiters(database.pool)) > 0, { interval: 1 })
            .toBe(true)
        },
      )
      await passed
      const { rows } = await database.pool.query('SELECT woken FROM sagapost.saga_instances WHERE id = $1', [
        id,
      ])
      return rows
    }
    // On a machine that is slow enough the moment is over before anybody looks: the news is kept, and it is tried again.
    await expect.poll(passWhileWritten, { timeout: 30_000 }).toEqual([{ woken: true }])
  })
})

describe('a signal in a transaction that stays open', () => {
  const expire = (key: string) =>
    database.pool.query(
      `INSERT INTO sagapost.saga_signals (name, key, received_at, expires_at)
       VALUES ('old', $1, sagapost.now() - interval '31 days', sagapost.now() - interval '1 day')`,
      [key],
    )

  it('[O7] that was sent before and has expired does not prevent the removal of others', async () => {
    const keys = [randomUUID(), randomUUID()]
    for (const key of keys) await expire(key)
    await whileOpen(
      (client) => client.query(`SELECT sagapost.signal('old', $1)`, [keys[0]]),
      async () => expect(await under.storage.cleanUpSignals(100)).toBe(1),
    )
    expect(await under.storage.cleanUpSignals(100)).toBe(1)
  })

  it('[O8] makes the same signal from elsewhere wait a little, and then fail; others continue meanwhile', async () => {
    const key = randomUUID()
    await whileOpen(
      (client) => client.query(`SELECT sagapost.signal('busy', $1)`, [key]),
      async () => {
        const sent = Array.from({ length: 8 }, () =>
          under.storage.signal({ name: 'busy', key, payload: undefined }),
        )
        const outcomes = await Promise.allSettled(sent)
        expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason?.code)).toEqual(
          sent.map(() => 'idempotency_key_busy'),
        )
      },
    )
    expect(await under.storage.signal({ name: 'busy', key, payload: undefined })).toMatchObject({
      created: true,
    })
  })
})

it('[O8] starts whose key an open transaction holds wait a little, and then fail; other sagas continue meanwhile', async () => {
  const keyed = saga<number>(`keyed-${randomUUID()}`).step('one', { run: ({ input }) => input })
  const plain = saga(`plain-${randomUUID()}`).step('one', { run: () => 1 })
  const coordinator = coordinate([keyed, plain])
  const key = randomUUID()
  await whileOpen(
    (client) => startSaga(under.storage, keyed, 7, { key, tx: client }),
    async () => {
      const starts = Promise.allSettled(Array.from({ length: 8 }, () => coordinator.start(keyed, 7, { key })))
      const other = await coordinator.start(plain, undefined)
      expect((await other.result()).state).toBe('Completed')
      const outcomes = await starts
      expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason?.code)).toEqual(
        outcomes.map(() => 'idempotency_key_busy'),
      )
    },
  )
  const handle = await coordinator.start(keyed, 7, { key })
  expect([handle.created, (await handle.result()).state]).toEqual([true, 'Completed'])
})

it('expired signals are removed as fast as they arrive', async () => {
  const left = [1_000, 1_000, 1_000, 7, 0]
  const removed: number[] = []
  const storage = {
    ...createMemoryStorage(),
    cleanUpSignals: async () => {
      removed.push(left.shift() ?? 0)
      return removed.at(-1) as number
    },
  }
  coordinate([], { storage })
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 61_000)
  try {
    await expect.poll(() => removed).toEqual([1_000, 1_000, 1_000, 7])
  } finally {
    clock.mockRestore()
  }
})
