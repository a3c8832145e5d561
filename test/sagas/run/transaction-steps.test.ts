import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPostgresStorage, type SagaDefinition, saga } from '../../../src/sagas/index.js'
import type { CoordinatorOptions } from '../../../src/sagas/run/coordinator.js'
import { useDatabase } from '../../support/database.js'
import { type CommandedCoordinator, createCommandedCoordinator } from '../commanded-coordinator.js'
import { expectHistoryToReplay } from '../history.js'

const database = useDatabase()
const coordinators: CommandedCoordinator[] = []
const errors: Error[] = []
let pool: pg.Pool
/** How many of the next connections fail. */
let refusals = 0

const coordinate = (definitions: SagaDefinition[], options: Partial<CoordinatorOptions> = {}) => {
  const coordinator = createCommandedCoordinator({
    storage: createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: pool }),
    definitions,
    onError: (error) => errors.push(error),
    pollMs: 10,
    abortGraceMs: 20,
    ...options,
  })
  coordinators.push(coordinator)
  return coordinator
}
const storage = () => createPostgresStorage({ pool: database.as('saga_app_role') })
const sleepers = async () => {
  const { rows } = await database.pool.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
       AND query LIKE 'SELECT pg_sleep%'`,
  )
  return rows.length
}

beforeAll(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 2 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => unknown
  pool.connect = ((...args: unknown[]) => {
    if (refusals > 0) {
      refusals--
      return Promise.reject(new Error('no connection'))
    }
    return connect(...args)
  }) as typeof pool.connect
})

afterEach(async () => {
  await Promise.all(coordinators.splice(0).map((coordinator) => coordinator.stop({ timeoutMs: 0 })))
  expect(errors.splice(0)).toEqual([])
})

afterAll(() => pool.end())

describe('a transaction step', () => {
  it.each(['time-out', 'cancel', 'stop'])('[G14] %s does not wait for its statement', async (why) => {
    const stuck = saga(`stuck-${why}`, { retry: { maxAttempts: 1 } }).transaction('wait', {
      ...(why === 'time-out' && { timeout: '50ms' as const }),
      run: ({ tx }) => tx.query('SELECT pg_sleep(600)').then(() => 1),
    })
    const coordinator = coordinate([stuck])
    const handle = await coordinator.start(stuck, undefined)
    if (why !== 'time-out') await expect.poll(sleepers).toBe(1)
    if (why === 'cancel') await coordinator.cancel(handle.id, { by: 'me', reason: 'test' })
    if (why === 'stop') {
      await coordinator.stop({ timeoutMs: 0 })
      await expect.poll(async () => (await storage().getSaga(handle.id))?.leaseOwner).toBeNull()
    } else {
      const state = why === 'cancel' ? 'Cancelled' : 'Compensated'
      expect(await handle.result()).toMatchObject({ state })
      await expectHistoryToReplay(storage(), handle.id)
    }
    await expect.poll(sleepers).toBe(0)
  })

  it('[G14] waits for its turn when all connections are taken, longer than for a connection', async () => {
    const busy = saga('busy').transaction('wait', {
      run: ({ tx }) => tx.query('SELECT pg_sleep(0.4)').then(() => 1),
    })
    // Its two connections are there: only who waits for one in the pool is told after half a second.
    const limits = { max: 2, connectionTimeoutMillis: 500, idleTimeoutMillis: 0 }
    const impatient = new pg.Pool({ connectionString: database.url, ...limits })
    onTestFinished(() => impatient.end())
    for (let made = 0; made < limits.max; ) {
      const clients = await Promise.allSettled([1, 2].map(() => impatient.connect()))
      made = clients.filter(({ status }) => status === 'fulfilled').length
      for (const client of clients) if (client.status === 'fulfilled') client.value.release()
    }
    const coordinator = coordinate([busy], {
      storage: createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: impatient }),
    })
    const handles = await Promise.all(Array.from({ length: 8 }, () => coordinator.start(busy, undefined)))
    for (const handle of handles) {
      expect((await handle.result()).state).toBe('Completed')
      const events = await storage().listEvents(handle.id)
      expect(events.filter(({ type }) => type === 'saga.step.failed')).toEqual([])
    }
  })

  it('[G14] that gets no connection uses up no attempt', async () => {
    const patient = saga('patient', { retry: { maxAttempts: 1 } }).transaction('only', { run: () => 1 })
    refusals = 2
    const handle = await coordinate([patient]).start(patient, undefined)
    expect((await handle.result()).state).toBe('Completed')
    expect((await storage().listSteps(handle.id))[0]).toMatchObject({ attempts: 1, error: null })
    expect(errors.splice(0).map(({ message }) => message)).toEqual(['no connection', 'no connection'])
  })

  it('[G14] does not fail because of errors in our own tables', async () => {
    await database.pool.query(
      `ALTER TABLE sagapost.saga_events ADD CONSTRAINT full_up CHECK (event_type <> 'saga.step.completed') NOT VALID`,
    )
    const innocent = saga('innocent', { retry: { maxAttempts: 1 } }).transaction('only', { run: () => 1 })
    const handle = await coordinate([innocent]).start(innocent, undefined)
    await expect.poll(() => errors.length).toBeGreaterThan(1)
    await database.pool.query('ALTER TABLE sagapost.saga_events DROP CONSTRAINT full_up')
    expect((await handle.result()).state).toBe('Completed')
    expect((await storage().listSteps(handle.id))[0]?.attempts).toBe(1)
    expect(errors.splice(0).every(({ message }) => message.includes('full_up'))).toBe(true)
  })

  it('[G14] that is cut off before COMMIT frees its row after a lease', async () => {
    let cutOff = true
    let comeBack = () => {}
    const cut = saga('cut', { retry: { maxAttempts: 1 } }).transaction('only', { run: () => 1 })
    const client = await pool.connect()
    const { query } = client
    // Its process stops for ever where COMMIT would be sent; the server only sees that nothing comes.
    client.query = ((...args: [string]) => {
      if (args[0] !== 'COMMIT' || !cutOff)
        return (query as (...args: unknown[]) => unknown).apply(client, args)
      cutOff = false
      return new Promise((_, reject) => {
        comeBack = () => reject(new Error('the connection is gone'))
      })
    }) as typeof client.query
    client.release()
    const first = coordinate([cut], { leaseMs: 1_000, onError: () => {} })
    const handle = await first.start(cut, undefined)
    await expect.poll(() => cutOff).toBe(false)
    coordinate([cut])
    await expect.poll(async () => (await storage().getSaga(handle.id))?.state).toBe('Completed')
    comeBack()
  })
})
