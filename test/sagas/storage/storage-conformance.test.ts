import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { NewSaga, SagaChange } from '../../../src/sagas/records.js'
import { defaultRetryPolicy } from '../../../src/sagas/retry-policy.js'
import { attemptError } from '../../../src/sagas/saga-error.js'
import { storages } from '../storages.js'

const LEASE_MS = 60_000

describe.each(Object.entries(storages))('[G13] the storage: %s', (_, use) => {
  const under = use()

  const newSaga = (saga: Partial<NewSaga> = {}): NewSaga => ({
    id: randomUUID(),
    definitionId: `definition-${randomUUID()}`,
    definitionVersion: 1,
    idempotencyKey: null,
    input: '{"order":7}',
    timeoutMs: null,
    retryPolicy: defaultRetryPolicy,
    metadata: { tenant: 'a' },
    traceId: randomUUID().replaceAll('-', ''),
    spanId: '0123456789abcdef',
    steps: [
      { name: 'one', maxAttempts: 3 },
      { name: 'two', maxAttempts: 1 },
    ],
    ...saga,
  })
  const held = (owner = 'me') => ({ lease: { owner, leaseMs: LEASE_MS } })
  const change = (sagaId: string, to: Partial<SagaChange> = {}): SagaChange => ({
    sagaId,
    owner: 'me',
    version: 1,
    state: 'Running',
    currentStep: 0,
    error: null,
    awaitingOperator: false,
    steps: [],
    events: [{ type: 'saga.started', stepIndex: null, oldState: 0, newState: 1 }],
    ...to,
  })
  const claimOf = (definitionId: string, owner = 'me', limit = 10) =>
    under.storage.claim({
      owner,
      leaseMs: LEASE_MS,
      limit,
      definitions: [{ name: definitionId, version: 1, limit }],
    })
  /** To the end, legally. */
  const finish = async (sagaId: string) => {
    await under.storage.write([change(sagaId)], LEASE_MS)
    const done = change(sagaId, {
      state: 'Completed',
      version: 2,
      finished: true,
      release: { wakeInMs: null },
    })
    return under.storage.write([done], LEASE_MS)
  }

  it('saves a saga with its steps, and returns it', async () => {
    const saga = newSaga({ timeoutMs: 5_000 })
    const { created } = await under.storage.startSaga(saga)
    expect(created).toBe(true)
    const stored = await under.storage.getSaga(saga.id)
    expect(stored).toMatchObject({
      id: saga.id,
      definitionId: saga.definitionId,
      state: 'Pending',
      currentStep: 0,
      totalSteps: 2,
      input: { order: 7 },
      result: undefined,
      timeoutMs: 5_000,
      retryPolicy: defaultRetryPolicy,
      metadata: { tenant: 'a' },
      traceId: saga.traceId,
      leaseOwner: null,
      version: 0,
      eventCount: 0,
    })
    expect(Number(stored?.deadlineAt) - Number(stored?.createdAt)).toBe(5_000)
    const steps = await under.storage.listSteps(saga.id)
    expect(
      steps.map(({ id, name, index, maxAttempts, state }) => [id, name, index, maxAttempts, state]),
    ).toEqual([
      [`${saga.id}:0`, 'one', 0, 3, 'Pending'],
      [`${saga.id}:1`, 'two', 1, 1, 'Pending'],
    ])
    expect(await under.storage.getSaga('nobody')).toBeUndefined()
    expect(await under.storage.listSteps('nobody')).toEqual([])
  })

  it('finds the first saga of a key, of the same definition only', async () => {
    const first = newSaga({ idempotencyKey: 'k' })
    await under.storage.startSaga(first)
    const again = await under.storage.startSaga(
      newSaga({ idempotencyKey: 'k', definitionId: first.definitionId }),
    )
    expect([again.created, again.saga.id]).toEqual([false, first.id])
    expect((await under.storage.startSaga(newSaga({ idempotencyKey: 'k' }))).created).toBe(true)
  })

  it('[G15] starts many in one transaction: all of them, and what their leases begin', async () => {
    const events = [
      { type: 'saga.started', stepIndex: null, oldState: 0, newState: 1 },
      { type: 'saga.step.started', stepIndex: 0, oldState: 0, newState: 1, data: { attempt: 1 } },
    ] as const
    const key = newSaga({ idempotencyKey: 'many' })
    const sagas = [newSaga({ lease: { owner: 'me', leaseMs: LEASE_MS, events } }), newSaga(), key]
    await under.storage.startSaga(key)
    const outcomes = await under.storage.startSagas([...sagas.slice(0, 2), { ...key, id: randomUUID() }])
    expect(outcomes.map(({ created, saga }) => [created, saga.id, saga.state])).toEqual([
      [true, sagas[0]?.id, 'Running'],
      [true, sagas[1]?.id, 'Pending'],
      [false, key.id, 'Pending'],
    ])
    for (const { saga } of outcomes) expect(await under.storage.getSaga(saga.id)).toEqual(saga)
    const begun = sagas[0]?.id ?? ''
    const steps = await under.storage.listSteps(begun)
    expect(steps.map(({ state, attempts }) => [state, attempts])).toEqual([
      ['Running', 1],
      ['Pending', 0],
    ])
    expect(steps[0]?.startedAt).toEqual(outcomes[0]?.saga.createdAt)
    expect((await under.storage.listEvents(begun)).map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'saga.started'],
      [2, 'saga.step.started'],
    ])
    expect(await claimOf(sagas[0]?.definitionId ?? '')).toEqual([])
  })

  it('distinguishes undefined, null and other JSON', async () => {
    for (const [input, expected] of [
      [undefined, undefined],
      ['null', null],
      ['[1.5,"ä"]', [1.5, 'ä']],
    ] as const) {
      const saga = newSaga({ input })
      await under.storage.startSaga(saga)
      expect((await under.storage.getSaga(saga.id))?.input).toEqual(expected)
    }
  })

  it('writes a saga, its steps and its events together, for many sagas at once', async () => {
    const sagas = [newSaga(held()), newSaga(held())]
    for (const saga of sagas) await under.storage.startSaga(saga)
    const error = { ...attemptError('run_interrupted', 'm', true), code: 'E' }
    const outcomes = await under.storage.write(
      sagas.map(({ id }) =>
        change(id, {
          started: true,
          steps: [
            {
              index: 0,
              state: 'Running',
              attempts: 1,
              maxAttempts: 4,
              error,
              compensation: null,
              waitsFor: null,
              started: true,
            },
          ],
          events: [
            { type: 'saga.started', stepIndex: null, oldState: 0, newState: 1 },
            {
              type: 'saga.step.started',
              stepIndex: 0,
              oldState: 0,
              newState: 1,
              data: { attempt: 1 },
              spanId: 's',
            },
          ],
        }),
      ),
      LEASE_MS,
    )
    expect(outcomes).toEqual(
      [1, 2].map(() => ({ applied: true, cancelRequested: false, overdue: false, moment: expect.any(Date) })),
    )
    for (const { id, traceId, spanId } of sagas) {
      expect(await under.storage.getSaga(id)).toMatchObject({ state: 'Running', version: 2, eventCount: 2 })
      expect((await under.storage.listSteps(id))[0]).toMatchObject({
        state: 'Running',
        attempts: 1,
        maxAttempts: 4,
        error,
      })
      expect(await under.storage.listEvents(id)).toMatchObject([
        { sequence: 1, type: 'saga.started', oldState: 0, newState: 1, stepIndex: null, traceId, spanId },
        { sequence: 2, type: 'saga.step.started', stepIndex: 0, data: { attempt: 1 }, traceId, spanId: 's' },
      ])
    }
  })

  it.each([
    ['another owner', { owner: 'you' }],
    ['an older token', { version: 0 }],
    ['a token that was never given', { version: 2 }],
    ['no owner', { owner: null }],
  ])('refuses a write with %s, and writes the others of the batch', async (_, fence) => {
    const [mine, lost] = [newSaga(held()), newSaga(held())]
    await under.storage.startSaga(mine)
    await under.storage.startSaga(lost)
    const outcomes = await under.storage.write([change(lost.id, fence), change(mine.id)], LEASE_MS)
    expect(outcomes.map(({ applied }) => applied)).toEqual([false, true])
    expect(await under.storage.getSaga(lost.id)).toMatchObject({
      state: 'Pending',
      version: 1,
      eventCount: 0,
    })
    expect(await under.storage.listEvents(lost.id)).toEqual([])
  })

  it('accepts the same write once', async () => {
    const saga = newSaga(held())
    await under.storage.startSaga(saga)
    const twice = [
      await under.storage.write([change(saga.id)], LEASE_MS),
      await under.storage.write([change(saga.id)], LEASE_MS),
    ]
    expect(twice.map(([outcome]) => outcome?.applied)).toEqual([true, false])
    expect(await under.storage.listEvents(saga.id)).toHaveLength(1)
  })

  it('claims what is due, once, and again when the lease is over', async () => {
    const saga = newSaga()
    await under.storage.startSaga(saga)
    const [claimed] = await claimOf(saga.definitionId)
    expect(claimed).toMatchObject({ recovered: false, signals: { cancelRequested: false, overdue: false } })
    expect(claimed?.saga).toMatchObject({ id: saga.id, leaseOwner: 'me', version: 1, input: { order: 7 } })
    expect(claimed?.steps.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(await claimOf(saga.definitionId, 'you')).toEqual([])
    await under.moveMs(LEASE_MS + 1)
    const [taken] = await claimOf(saga.definitionId, 'you')
    expect(taken).toMatchObject({ recovered: true, saga: { leaseOwner: 'you', version: 2 } })
    const [late] = await under.storage.write([change(saga.id)], LEASE_MS)
    expect(late?.applied).toBe(false)
  })

  it('claims the versions that are asked for, the longest waiting first, up to the limits', async () => {
    const definitionId = `definition-${randomUUID()}`
    const ids: string[] = []
    for (const version of [1, 1, 1, 2]) {
      const saga = newSaga({ definitionId, definitionVersion: version })
      ids.push(saga.id)
      await under.storage.startSaga(saga)
      await under.moveMs(1)
    }
    expect((await claimOf(definitionId, 'me', 2)).map(({ saga }) => saga.id).sort()).toEqual(
      ids.slice(0, 2).sort(),
    )
    expect((await claimOf(definitionId)).map(({ saga }) => saga.id)).toEqual([ids[2]])
  })

  it('returns when the next saga is due, of the given definitions and versions', async () => {
    const definitionId = `definition-${randomUUID()}`
    const dueInMs = async (version = 1) =>
      (await under.storage.lookAhead([{ name: definitionId, version }])).dueInMs
    expect(await dueInMs()).toBeNull()
    const saga = newSaga({ definitionId })
    await under.storage.startSaga(saga)
    expect(await dueInMs()).toBe(0)
    expect(await dueInMs(2)).toBeNull()
    await claimOf(definitionId)
    const leaseMs = await dueInMs()
    expect(leaseMs).toBeGreaterThan(0)
    expect(leaseMs).toBeLessThanOrEqual(LEASE_MS)
    await under.moveMs(LEASE_MS + 1)
    expect(await dueInMs()).toBe(0)
  })

  it('sees news before it is passed on', async () => {
    const waits = newSaga(held())
    await under.storage.startSaga(waits)
    await under.storage.signal({ name: 'look', key: waits.id, payload: undefined })
    expect((await under.storage.lookAhead([])).news).toBe(true)
  })

  it('gives each saga to one of many concurrent claimers', async () => {
    const definitionId = `definition-${randomUUID()}`
    for (let n = 0; n < 20; n++) await under.storage.startSaga(newSaga({ definitionId }))
    const claims = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => claimOf(definitionId, owner, 20)))
    const ids = claims.flat().map(({ saga }) => saga.id)
    expect([ids.length, new Set(ids).size]).toEqual([20, 20])
  })

  it('renews the leases that the owner holds, and returns the news of their sagas', async () => {
    const [mine, yours] = [newSaga({ ...held(), timeoutMs: LEASE_MS }), newSaga(held('you'))]
    await under.storage.startSaga(mine)
    await under.storage.startSaga(yours)
    await under.moveMs(LEASE_MS / 2)
    expect(await under.storage.renew('me', [mine.id, yours.id], LEASE_MS)).toEqual([mine.id])
    await under.moveMs(LEASE_MS / 2 + 1_000)
    expect(await claimOf(mine.definitionId, 'other')).toEqual([])
    expect(await claimOf(yours.definitionId, 'other')).toHaveLength(1)
    await under.storage.requestCancel(mine.id, { by: 'b', reason: 'r' })
    expect(await under.storage.readSignals('me', [mine.id, yours.id, 'nobody'])).toEqual(
      new Map([[mine.id, { cancelRequested: true, overdue: true }]]),
    )
  })

  it('a saga that is released wakes in time, at its deadline at the latest, and at once when it is cancelled', async () => {
    const [later, deadline, cancelled] = [
      newSaga(held()),
      newSaga({ ...held(), timeoutMs: 15_000 }),
      newSaga(held()),
    ]
    for (const saga of [later, deadline, cancelled]) {
      await under.storage.startSaga(saga)
      await under.storage.write([change(saga.id, { release: { wakeInMs: 35_000 } })], LEASE_MS)
    }
    await under.storage.requestCancel(cancelled.id, { by: 'b', reason: 'r' })
    const due = async () =>
      (await Promise.all([later, deadline, cancelled].map(({ definitionId }) => claimOf(definitionId)))).map(
        (claimed) => claimed.length,
      )
    expect(await due()).toEqual([0, 0, 1])
    await under.moveMs(15_001)
    expect(await due()).toEqual([0, 1, 0])
    await under.moveMs(20_000)
    expect(await due()).toEqual([1, 0, 0])
  })

  it('lists by state, definition, trace and need of an operator, newest first, page by page', async () => {
    const definitionId = `definition-${randomUUID()}`
    const sagas: NewSaga[] = []
    for (let n = 0; n < 4; n++) {
      const saga = newSaga({ definitionId, ...held() })
      sagas.push(saga)
      await under.storage.startSaga(saga)
      await under.moveMs(1)
    }
    const ids = sagas.map(({ id }) => id)
    await under.storage.write([change(ids[0] as string)], LEASE_MS)
    const list = async (filter: Parameters<typeof under.storage.listSagas>[0]) =>
      (await under.storage.listSagas({ definitionId, ...filter })).map(({ id }) => id)
    expect(await list({})).toEqual([...ids].reverse())
    expect(await list({ states: ['Running', 'Compensating'] })).toEqual([ids[0]])
    expect(await list({ traceId: sagas[2]?.traceId as string })).toEqual([ids[2]])
    expect(await list({ awaitingOperator: true })).toEqual([])
    const page = await under.storage.listSagas({ definitionId, limit: 2 })
    expect(page.map(({ id }) => id)).toEqual([ids[3], ids[2]])
    expect(await list({ before: page[1] as (typeof page)[number] })).toEqual([ids[1], ids[0]])
  })

  it('finds sagas whose deadline has passed', async () => {
    const saga = newSaga({ timeoutMs: 60_000 })
    await under.storage.startSaga(saga)
    const found = async () => (await under.storage.findTimedOut(1_000)).some(({ id }) => id === saga.id)
    expect(await found()).toBe(false)
    await under.moveMs(60_001)
    expect(await found()).toBe(true)
  })

  it('writes the change of a transaction with its work, or neither', async () => {
    const saga = newSaga(held())
    await under.storage.startSaga(saga)
    const failed = await under.storage.transact(() => Promise.reject(new Error('no')), LEASE_MS)
    expect(failed).toMatchObject({ outcome: 'failed', error: { message: 'no' } })
    const refused = await under.storage.transact(async () => change(saga.id, { version: 0 }), LEASE_MS)
    expect(refused).toEqual({ outcome: 'refused' })
    expect((await under.storage.getSaga(saga.id))?.state).toBe('Pending')
    const committed = await under.storage.transact(async () => change(saga.id), LEASE_MS)
    expect(committed).toMatchObject({ outcome: 'committed', signals: { cancelRequested: false } })
    expect((await under.storage.getSaga(saga.id))?.state).toBe('Running')
  })

  it('deletes finished sagas only, one by one and by age', async () => {
    const [open, over, old] = [newSaga(held()), newSaga(held()), newSaga(held())]
    for (const saga of [open, over, old]) await under.storage.startSaga(saga)
    expect((await finish(over.id))[0]?.applied).toBe(true)
    await finish(old.id)
    expect(await under.storage.deleteSaga(open.id)).toBe(false)
    expect(await under.storage.deleteSaga(over.id)).toBe(true)
    expect(await under.storage.deleteSaga(over.id)).toBe(false)
    expect(await under.storage.listEvents(over.id)).toEqual([])
    const updatedAt = (await under.storage.getSaga(old.id))?.updatedAt as Date
    await under.storage.cleanUpExpired(updatedAt)
    expect(await under.storage.getSaga(old.id)).toBeDefined()
    await under.storage.cleanUpExpired(new Date(updatedAt.getTime() + 1), { batch: 1 })
    expect(await under.storage.getSaga(old.id)).toBeUndefined()
    expect(await under.storage.getSaga(open.id)).toBeDefined()
  })

  it('keeps a Failed saga that waits for an operator', async () => {
    const saga = newSaga(held())
    await under.storage.startSaga(saga)
    for (const [version, to] of [
      [1, { state: 'Running' }],
      [2, { state: 'Compensating' }],
      [3, { state: 'Failed', awaitingOperator: true, release: { wakeInMs: null } }],
    ] as const) {
      await under.storage.write([change(saga.id, { version, ...to })], LEASE_MS)
    }
    expect(await under.storage.deleteSaga(saga.id)).toBe(false)
    await under.storage.cleanUpExpired(new Date(Date.now() + 10 * 365 * 86_400_000))
    expect(await under.storage.getSaga(saga.id)).toMatchObject({ state: 'Failed', awaitingOperator: true })
  })
})
