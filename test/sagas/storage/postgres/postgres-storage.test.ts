import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SagapostError } from '../../../../src/errors/index.js'
import {
  type Coordinator,
  createCoordinator,
  createDataBox,
  createPostgresStorage,
  observeStorage,
  type SagaDefinition,
  type SagaRecord,
  type StateStorage,
  saga,
  startSaga,
} from '../../../../src/sagas/index.js'
import { newSagaId } from '../../../../src/sagas/new-ids.js'
import type { NewSaga, SagaChange } from '../../../../src/sagas/records.js'
import { createBatchedStarts } from '../../../../src/sagas/run/batched-starts.js'
import { createBatchedWrites } from '../../../../src/sagas/run/batched-writes.js'
import type { CoordinatorOptions } from '../../../../src/sagas/run/coordinator.js'
import { keepLeases } from '../../../../src/sagas/run/keep-leases.js'
import type { SagaObserver } from '../../../../src/sagas/run/observe-storage.js'
import { claimSagas } from '../../../../src/sagas/storage/postgres/claim-sagas.js'
import {
  selectEvents,
  selectSagas,
  selectSagasInStates,
  selectSteps,
  selectTimedOut,
} from '../../../../src/sagas/storage/postgres/read-sagas.js'
import { deleteExpired } from '../../../../src/sagas/storage/postgres/remove-sagas.js'
import { loadSagas } from '../../../schema/general-sagas/load-sagas.js'
import { useDatabase } from '../../../support/database.js'
import { explain } from '../../../support/explain.js'
import { countLockWaiters } from '../../../support/lock-waiters.js'
import { expectHistoryToReplay } from '../../history.js'

const database = useDatabase()
let storage: StateStorage
const coordinators: Coordinator[] = []

beforeAll(async () => {
  storage = createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: database.pool })
  await database.pool.query(`
    CREATE TABLE public.ledger (saga_id text, amount int CHECK (amount > 0));
    CREATE TABLE public.late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO public.late VALUES (1)`)
})

afterEach(async () => {
  await Promise.all(coordinators.splice(0).map((coordinator) => coordinator.stop({ timeoutMs: 0 })))
})

function coordinate(
  definitions: SagaDefinition[],
  on = storage,
  options: Partial<CoordinatorOptions> = {},
): Coordinator {
  const coordinator = createCoordinator({
    storage: on,
    definitions,
    onError: (error) => {
      throw error
    },
    pollMs: 10,
    abortGraceMs: 20,
    ...options,
  })
  coordinators.push(coordinator)
  return coordinator
}

const ledgerOf = async (id: string) =>
  (await database.pool.query('SELECT amount FROM public.ledger WHERE saga_id = $1', [id])).rows

describe('a transaction step', () => {
  const insert = 'INSERT INTO public.ledger VALUES ($1, $2)'
  const once = { maxAttempts: 1 } as const

  it('[G14] commits together with its checkpoint', async () => {
    const booking = saga('booking')
      .transaction('book', {
        run: async ({ tx, sagaId }) => {
          await tx.query(insert, [sagaId, 7])
          return { booked: true }
        },
      })
      .step('after', { run: ({ outputs }) => outputs.book.booked })
    const handle = await coordinate([booking]).start(booking, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: true })
    expect(await ledgerOf(handle.id)).toEqual([{ amount: 7 }])
    const { rows } = await database.pool.query(
      `SELECT count(DISTINCT xmin::text)::int AS transactions FROM (
         SELECT xmin FROM public.ledger WHERE saga_id = $1
         UNION ALL SELECT xmin FROM sagapost.saga_events WHERE saga_id = $1 AND event_type = 'saga.step.completed' AND step_index = 0
       ) AS written`,
      [handle.id],
    )
    expect(rows).toEqual([{ transactions: 1 }])
  })

  it.each<
    [
      string,
      (tx: { query(sql: string, values?: unknown[]): Promise<unknown> }, id: string) => Promise<unknown>,
      string,
    ]
  >([
    ['throws', () => Promise.reject(new Error('no')), 'Error'],
    ['breaks a constraint', (tx, id) => tx.query(insert, [id, -1]), '23514'],
    [
      'breaks one that is checked at the end',
      (tx) => tx.query('INSERT INTO public.late VALUES (1)'),
      '23505',
    ],
    [
      'swallows an error of the database',
      (tx, id) => tx.query(insert, [id, -1]).catch(() => 'never mind'),
      '25P02',
    ],
    ['commits by itself', (tx) => tx.query(' commit'), 'Error'],
    ['rolls back by itself', (tx) => tx.query('ROLLBACK'), 'Error'],
    ['commits behind comments', (tx) => tx.query('-- now\n/* a */ /* b */; COMMIT'), 'Error'],
  ])('[G14] that %s leaves nothing behind', async (title, run, code) => {
    const failing = saga(`failing-${title.replaceAll(' ', '-')}`, { retry: once }).transaction('book', {
      run: async ({ tx, sagaId }) => {
        await tx.query(insert, [sagaId, 7])
        await run(tx as never, sagaId)
      },
    })
    const handle = await coordinate([failing]).start(failing, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { code } })
    expect(await ledgerOf(handle.id)).toEqual([])
    await expectHistoryToReplay(storage, handle.id)
  })

  it('[G14] may use savepoints', async () => {
    const careful = saga('careful').transaction('book', {
      run: async ({ tx, sagaId }) => {
        await tx.query('SAVEPOINT try')
        await tx.query(insert, [sagaId, -1]).catch(() => tx.query('ROLLBACK TO SAVEPOINT try'))
        await tx.query(insert, [sagaId, 1])
      },
    })
    const handle = await coordinate([careful]).start(careful, undefined)
    expect((await handle.result()).state).toBe('Completed')
    expect(await ledgerOf(handle.id)).toEqual([{ amount: 1 }])
  })

  it('[G14] that takes longer than the lease keeps it: the next step runs once, and no time goes back', async () => {
    // A machine that stood still may have lost the short one: then once more with a long one.
    const isKept = await outlastLease(1_500)
    expect(isKept || (await outlastLease(10_000))).toBe(true)
  })

  async function outlastLease(leaseMs: number): Promise<boolean> {
    const sleepMs = leaseMs * 1.5
    const leases: boolean[] = []
    const long = saga(`long-transaction-${leaseMs}`)
      .transaction('book', {
        run: ({ tx }) => tx.query(`SELECT pg_sleep(${sleepMs / 1_000})`).then(() => 1),
      })
      .step('after', {
        run: async ({ sagaId }) => {
          const { rows } = await database.pool.query(
            'SELECT lease_until > clock_timestamp() AS held FROM sagapost.saga_instances WHERE id = $1',
            [sagaId],
          )
          leases.push(rows[0].held)
        },
      })
    const told: Error[] = []
    const options = { leaseMs, onError: (error: Error) => void told.push(error) }
    const [one, two] = [coordinate([long], storage, options), coordinate([long], storage, options)]
    const handle = await one.start(long, undefined)
    expect((await handle.result()).state).toBe('Completed')
    const isKept = told.length === 0 && two.running === 0 && leases.length === 1 && leases[0] === true
    const times = (await storage.listEvents(handle.id)).map(({ timestamp }) => timestamp.getTime())
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const done = await storage.getSaga(handle.id)
    expect(Number(done?.completedAt)).toBeGreaterThanOrEqual(Number(done?.startedAt) + sleepMs)
    await expectHistoryToReplay(storage, handle.id)
    return isKept
  }

  it('[G14] that continues after its time is up writes nothing outside of its transaction', async () => {
    let late: Promise<unknown> | undefined
    let go = () => {}
    const opened = new Promise<void>((resolve) => {
      go = resolve
    })
    const deaf = saga('deaf', { retry: once }).transaction('book', {
      timeout: '10ms',
      run: async ({ tx, sagaId }) => {
        await opened
        late = tx.query(insert, [sagaId, 7]).then(
          () => 'written',
          (error: Error) => error.message,
        )
      },
    })
    const handle = await coordinate([deaf]).start(deaf, undefined)
    expect(await handle.result()).toMatchObject({ error: { code: 'step_timed_out' } })
    go()
    await expect.poll(() => late).toBeDefined()
    expect(await late).toBe('the transaction of this step is over')
    expect(await ledgerOf(handle.id)).toEqual([])
  })
})

it.each([
  ['COMMIT', 'Completed'],
  ['ROLLBACK', undefined],
] as const)("[G14] a saga that is started in the caller's transaction: %s", async (end, state) => {
  const within = saga(`within-${end}`).step('only', { run: () => 1 })
  const coordinator = coordinate([within])
  const client = await database.as('saga_app_role').connect()
  try {
    await client.query('BEGIN')
    const { saga: started } = await startSaga(storage, within, undefined, { tx: client })
    expect(await storage.getSaga(started.id)).toBeUndefined()
    await client.query(end)
    coordinator.wake()
    await expect.poll(async () => (await storage.getSaga(started.id))?.state).toBe(state)
  } finally {
    client.release()
  }
})

describe('encryption', () => {
  const box = createDataBox(randomBytes(32))
  const definition = saga('sealed')
    .step('one', { run: () => ({ secret: 'sesame-1' }) })
    .step('two', { run: ({ outputs }) => ({ again: outputs.one.secret }) })
  const sealed = () => createPostgresStorage({ pool: database.as('saga_app_role'), dataBox: box })

  it('[G15] keeps input, outputs and result unreadable at rest, and readable with the key', async () => {
    const handle = await coordinate([definition], sealed()).start(definition, undefined)
    expect((await handle.result()).result).toEqual({ again: 'sesame-1' })
    const { rows } = await database.pool.query(
      `SELECT (SELECT json_agg(i)::text FROM sagapost.saga_instances AS i WHERE id = $1)
           || (SELECT json_agg(s)::text FROM sagapost.saga_steps AS s WHERE saga_id = $1)
           || (SELECT json_agg(e)::text FROM sagapost.saga_events AS e WHERE saga_id = $1) AS everything`,
      [handle.id],
    )
    expect(rows[0].everything).toContain('sagapost_sealed')
    expect(rows[0].everything).not.toContain('sesame')
  })

  it.each([
    ['without a key', undefined],
    ['with another key', createDataBox(randomBytes(32))],
  ])('[G15] reports the cause %s', async (_, dataBox) => {
    const handle = await coordinate([definition], sealed()).start(definition, undefined)
    await handle.result()
    const other = createPostgresStorage({ pool: database.pool, ...(dataBox ? { dataBox } : {}) })
    const refusal = await other.getSaga(handle.id).catch((error: SagapostError) => error.code)
    expect(refusal).toBe('saga_data_unreadable')
  })

  it('[G15] a saga that cannot be read is set aside, and delays no other', async () => {
    const other = createPostgresStorage({
      pool: database.as('saga_app_role'),
      dataBox: createDataBox(randomBytes(32)),
    })
    const secret = saga('secret', { input: z.string() }).step('only', { run: ({ input }) => input })
    const unreadable = await coordinate([], other).start(secret, 'sesame')
    const readable = await coordinate([], sealed()).start(secret, 'open')
    const errors: unknown[] = []
    coordinate([secret], sealed(), { onError: (error, id) => errors.push([error, id]) })
    expect((await readable.result()).result).toBe('open')
    expect(errors).toEqual([[expect.objectContaining({ code: 'saga_data_unreadable' }), unreadable.id]])
    await expect.poll(async () => (await other.getSaga(unreadable.id))?.leaseOwner).toBeNull()
    const set = (await other.getSaga(unreadable.id)) as SagaRecord
    expect(Number(set.wakeAt) - Number(set.updatedAt)).toBeGreaterThan(50_000)
  })

  it('[G15] data that was moved to another row does not open', async () => {
    const handle = await coordinate([definition], sealed()).start(definition, undefined)
    await handle.result()
    await database.pool.query(
      `UPDATE sagapost.saga_steps SET output_data = (SELECT output_data FROM sagapost.saga_steps WHERE id = $2) WHERE id = $1`,
      [`${handle.id}:1`, `${handle.id}:0`],
    )
    const refusal = await sealed()
      .listSteps(handle.id)
      .catch((error: SagapostError) => error.code)
    expect(refusal).toBe('saga_data_unreadable')
  })
})

describe('writes that share a commit', () => {
  const change = (sagaId: string, state: SagaChange['state']): SagaChange => ({
    sagaId,
    owner: 'me',
    version: 1,
    state,
    currentStep: 0,
    error: null,
    awaitingOperator: false,
    steps: [],
    events: [{ type: 'saga.started', stepIndex: null, oldState: 0, newState: 1 }],
  })
  const started = async () => {
    const definition = saga('shared').step('only', { run: () => 1 })
    const starter = coordinate([])
    const { id } = await starter.start(definition, undefined)
    await storage.claim({
      owner: 'me',
      leaseMs: 60_000,
      limit: 9,
      definitions: [{ name: 'shared', version: 1, limit: 9 }],
    })
    return id
  }

  it('[G15] commit together; one that the database refuses spoils no other', async () => {
    const [good, bad, fine] = [await started(), await started(), await started()]
    let statements = 0
    const counted = {
      ...storage,
      write: (...args: Parameters<StateStorage['write']>) => {
        statements++
        return storage.write(...args)
      },
    }
    const writes = createBatchedWrites(counted, 60_000)
    const outcomes = await Promise.allSettled([
      writes.write(change(good, 'Running')),
      // Not a legal move.
      writes.write(change(bad, 'Compensated')),
      writes.write(change(fine, 'Running')),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(statements).toBeLessThanOrEqual(5)
    expect((await storage.getSaga(bad))?.state).toBe('Pending')
  })

  it('[G15] a batch that waits for a lock delays no other', async () => {
    const [locked, free, later] = [await started(), await started(), await started()]
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [locked])
      const writes = createBatchedWrites(storage, 60_000)
      let waiting = true
      const late = writes.write(change(locked, 'Running')).finally(() => {
        waiting = false
      })
      await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
      const outcomes = [writes.write(change(free, 'Running')), writes.write(change(later, 'Running'))]
      expect(await Promise.all(outcomes)).toMatchObject([{ applied: true }, { applied: true }])
      expect(waiting).toBe(true)
      await holder.query('COMMIT')
      expect(await late).toMatchObject({ applied: true })
    } finally {
      holder.release(true)
    }
  })

  it('[G15] a locked row does not delay the rest of its batch', async () => {
    const [locked, free] = [await started(), await started()]
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [locked])
      const batches: number[] = []
      const counted: StateStorage = {
        ...storage,
        write(changes, leaseMs) {
          batches.push(changes.length)
          return storage.write(changes, leaseMs)
        },
      }
      const writes = createBatchedWrites(counted, 60_000)
      let waiting = true
      const late = writes.write(change(locked, 'Running')).finally(() => {
        waiting = false
      })
      expect(await writes.write(change(free, 'Running'))).toMatchObject({ applied: true })
      expect([batches[0], waiting]).toEqual([2, true])
      await holder.query('COMMIT')
      expect(await late).toMatchObject({ applied: true })
    } finally {
      holder.release(true)
    }
  })

  it('[G14] renewals and the signals of others do not wait behind writes', async () => {
    const id = await started()
    const busy = new pg.Pool({ connectionString: database.url, max: 1 })
    const held = await busy.connect()
    try {
      const apart = createPostgresStorage({ pool: busy, leasePool: database.as('saga_app_role') })
      const before = (await storage.getSaga(id))?.leaseUntil
      await apart.renew('me', [id], 120_000)
      expect(Number((await storage.getSaga(id))?.leaseUntil)).toBeGreaterThan(Number(before))
      expect(await apart.readSignals('me', [id])).toEqual(
        new Map([[id, { cancelRequested: false, overdue: false }]]),
      )
    } finally {
      held.release()
      await busy.end()
    }
  })

  it('[G14] a lease whose row is locked does not count as renewed', async () => {
    const id = await started()
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [id])
      expect(await storage.renew('me', [id], 60_000)).toEqual([])
      const stops: string[] = []
      const run = {
        done: new Promise<never>(() => {}),
        tell: () => {},
        stop: (why: string) => stops.push(why),
      }
      const running = new Map([[id, { run: run as never, heldSinceMs: performance.now() }]])
      const leases = keepLeases({
        storage,
        owner: 'me',
        running,
        leaseMs: 600,
        pollMs: 20,
        onError: () => {},
      })
      await expect.poll(() => stops[0]).toBe('lost')
      await leases.stop()
      await holder.query('COMMIT')
      expect(await storage.renew('me', [id], 60_000)).toEqual([id])
    } finally {
      holder.release(true)
    }
  })

  it('[G15] starts share a commit; one that the database refuses spoils no other', async () => {
    const definition = saga('together').step('only', { run: () => 1 })
    const coordinator = coordinate([definition])
    const fresh = (maxAttempts: number): NewSaga => ({
      id: newSagaId(),
      definitionId: 'elsewhere',
      definitionVersion: 1,
      idempotencyKey: null,
      input: undefined,
      timeoutMs: null,
      retryPolicy: definition.retry,
      metadata: null,
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      steps: [{ name: 'only', maxAttempts }],
    })
    const together = createBatchedStarts(storage)
    const starts = await Promise.allSettled([1, -1, 1].map((most) => together.startSaga(fresh(most))))
    expect(starts.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const good = [coordinator.start(definition, undefined), coordinator.start(definition, undefined)]
    const handles = await Promise.all(good)
    for (const handle of handles) expect((await handle.result()).state).toBe('Completed')
    const { rows } = await database.pool.query(
      `SELECT count(DISTINCT xmin::text)::int AS transactions FROM sagapost.saga_events
       WHERE saga_id = ANY ($1) AND event_type = 'saga.started'`,
      [handles.map(({ id }) => id)],
    )
    expect(rows).toEqual([{ transactions: 1 }])
  })

  it('[G14] a write whose answer was lost is not repeated', async () => {
    const id = await started()
    let first = true
    const lossy = {
      ...storage,
      write: async (...args: Parameters<StateStorage['write']>) => {
        const outcomes = await storage.write(...args)
        if (!first) return outcomes
        first = false
        throw new Error('the connection is gone')
      },
    }
    let refused = 0
    const observer = new Proxy({} as SagaObserver, {
      get: (_, name) => () => {
        if (name === 'refused') refused++
      },
    })
    const writes = createBatchedWrites(observeStorage(lossy, observer), 60_000)
    expect(await writes.write(change(id, 'Running'))).toMatchObject({ applied: true })
    expect(refused).toBe(0)
    expect(await storage.getSaga(id)).toMatchObject({ state: 'Running', version: 2, eventCount: 1 })
  })

  it('[G14] a claim of its own does not count as a write whose answer was lost', async () => {
    const id = await started()
    let first = true
    const lossy = {
      ...storage,
      write: async (...args: Parameters<StateStorage['write']>) => {
        if (!first) return storage.write(...args)
        first = false
        // As a claim does, by the same owner.
        await database.pool.query('UPDATE sagapost.saga_instances SET version = version + 1 WHERE id = $1', [
          id,
        ])
        throw new Error('the connection is gone')
      },
    }
    const written = createBatchedWrites(lossy, 60_000).write({ ...change(id, 'Running'), eventsBefore: 0 })
    expect(await written).toEqual({ applied: false })
  })
})

describe('among 20,000 sagas', () => {
  const loaded = useDatabase()
  beforeAll(() =>
    loadSagas(loaded.pool, {
      instances: 20_000,
      definitions: 5,
      stepsPerSaga: 3,
      eventsPerSaga: 4,
      ids: 'random',
    }),
  )

  it.each<[string, string, unknown[], string[]]>([
    [
      'claims',
      claimSagas,
      [['definition-1', 'definition-2'], [1, 1], [10, 10], 20, 'me', 1_000],
      ['idx_saga_runnable', 'saga_instances_pkey'],
    ],
    ['deadlines', selectTimedOut, [10], ['idx_saga_deadline']],
    ['steps', selectSteps, [[randomUUID()]], ['idx_step_saga_index']],
    ['history', selectEvents, [randomUUID()], ['idx_event_saga_timestamp']],
    ['a list by trace', selectSagas, [null, 'x', null, null, null, 50], ['idx_saga_trace_id']],
    ['a list of the stuck', selectSagas, [null, null, true, null, null, 50], ['idx_saga_awaiting_operator']],
    [
      'a list of the active',
      selectSagasInStates,
      [null, null, null, null, null, 50, [1, 2, 4]],
      ['idx_saga_state_created'],
    ],
  ])('[G10, G13] %s are found by index', async (_, sql, values, indexes) => {
    const plan = await explain(loaded.pool, sql, values)
    expect(plan.scanned).toEqual([])
    expect(plan.indexes).toEqual(expect.arrayContaining(indexes))
  })

  it('[G8, G10] expired ones are found by index', async () => {
    const plan = await explain(loaded.pool, deleteExpired, [new Date(Date.now() - 3 * 86_400_000), 100])
    expect(plan.scanned).toEqual([])
    expect(
      ['idx_saga_terminal_cleanup', 'idx_saga_updated_at'].some((index) => plan.indexes.includes(index)),
    ).toBe(true)
  })

  it('[G10, G15] a batch of writes finds its rows by index', async () => {
    const client = await loaded.pool.connect()
    const scans = async () => {
      const { rows } = await client.query(
        `SELECT relname, pg_stat_get_xact_numscans(oid)::int AS scans FROM pg_class
         WHERE oid IN ('sagapost.saga_instances'::regclass, 'sagapost.saga_steps'::regclass)`,
      )
      return rows.map(({ scans }) => scans)
    }
    try {
      await client.query('BEGIN')
      const before = await scans()
      const batch = Array.from({ length: 20 }, (_, n) => ({
        saga_id: randomUUID(),
        version: n,
        steps: [{ index: 0 }],
      }))
      await client.query('SELECT FROM sagapost.write_saga_changes($1, 1000)', [JSON.stringify(batch)])
      expect(await scans()).toEqual(before)
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[G8] finished sagas are removed in batches, and locked ones are left without waiting', async () => {
    const cleaner = createPostgresStorage({ pool: loaded.as('saga_app_role') })
    const { rows } = await loaded.pool.query(
      'SELECT id FROM sagapost.saga_instances WHERE state = 3 ORDER BY updated_at LIMIT 1',
    )
    const holder = await loaded.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE', [rows[0].id])
      const before = await loaded.pool.query(
        'SELECT count(*)::int AS n FROM sagapost.saga_instances WHERE state IN (3, 5, 6, 7, 8)',
      )
      const removed = await cleaner.cleanUpExpired(new Date(Date.now() + 86_400_000), { batch: 2_000 })
      expect(removed).toBe(before.rows[0].n - 1)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    const left = await loaded.pool.query(
      'SELECT count(*)::int AS n FROM sagapost.saga_events WHERE saga_id <> $1 AND saga_id NOT IN (SELECT id FROM sagapost.saga_instances)',
      [rows[0].id],
    )
    expect(left.rows[0].n).toBe(0)
  })
})
