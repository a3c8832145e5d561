import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  createDataBox,
  createPostgresStorage,
  saga,
  sendSignal,
  startSaga,
} from '../../../src/sagas/index.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { createCommandedCoordinator } from '../commanded-coordinator.js'
import { expectHistoryToReplay } from '../history.js'
import { storages } from '../storages.js'

const DAY_MS = 86_400_000

/** Of the SagapostError that it fails with. */
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: { code?: unknown }) => error.code,
  )

const definitionOf = (name: string) =>
  saga<{ key: string }>(`${name}-${randomUUID().slice(0, 8)}`)
    .waitFor('news', { signal: name, key: ({ input }) => input.key, timeout: '90d' })
    .step('read', { run: ({ outputs }) => outputs.news })

describe.each(Object.keys(storages))('signals on %s', (which) => {
  const under = (storages[which] as (typeof storages)[string])()
  const run = (definitions: Parameters<typeof createCommandedCoordinator>[0]['definitions']) =>
    createCommandedCoordinator({
      storage: under.storage,
      definitions,
      onError: (error) => console.error(error),
      pollMs: 10,
    })
  const isAsleep = async (id: string) => (await under.storage.getSaga(id))?.leaseOwner === null

  it('the first of a name and key counts: the same again changes nothing, another payload is refused', async () => {
    const key = randomUUID()
    const first = await sendSignal(under.storage, { name: 'n', key, payload: { a: 1, b: [2] } })
    expect(first.created).toBe(true)
    expect(first.expiresAt.getTime() - first.receivedAt.getTime()).toBe(30 * DAY_MS)
    const again = await sendSignal(under.storage, { name: 'n', key, payload: { b: [2], a: 1 } })
    expect(again).toMatchObject({ created: false, receivedAt: first.receivedAt })
    expect(await codeOf(sendSignal(under.storage, { name: 'n', key, payload: 2 }))).toBe('signal_conflict')
    expect(await codeOf(sendSignal(under.storage, { name: 'n', key }))).toBe('signal_conflict')
    expect((await sendSignal(under.storage, { name: 'other', key })).created).toBe(true)
  })

  it('a name, a key or a payload that cannot be stored is refused, and nothing is stored', async () => {
    const key = randomUUID()
    const loop: unknown[] = []
    loop.push(loop)
    for (const bad of [
      { name: '', key },
      { name: 'a:b', key },
      { name: 'a'.repeat(101), key },
      { name: 'n', key: '' },
      { name: 'n', key: 'k'.repeat(256) },
      { name: 'n', key: 'a\0' },
      { name: 'n', key, payload: 'x'.repeat(65_536) },
      { name: 'n', key, payload: loop },
      { name: 'n', key, payload: '\ud800' },
    ]) {
      expect(await codeOf(sendSignal(under.storage, bad))).toBe('signal_invalid')
    }
    expect(await under.storage.findSignals([{ name: 'n', key }])).toEqual(new Map())
    expect((await sendSignal(under.storage, { name: 'n', key, payload: 'x'.repeat(65_534) })).created).toBe(
      true,
    )
  })

  it('two concurrent senders: one is the first, and the saga reads its payload', async () => {
    const definition = definitionOf('race')
    const coordinator = run([definition])
    for (let round = 0; round < 5; round++) {
      const key = randomUUID()
      const handle = await coordinator.start(definition, { key })
      if (round % 2 === 0) await expect.poll(() => isAsleep(handle.id)).toBe(true)
      const sent = await Promise.allSettled(
        [1, 2, 3].map((payload) => coordinator.signal({ name: 'race', key, payload })),
      )
      expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const winner = sent.findIndex(({ status }) => status === 'fulfilled') + 1
      const { result } = await handle.result()
      expect(result).toEqual({ timedOut: false, payload: winner })
      await expectHistoryToReplay(under.storage, handle.id)
    }
    await coordinator.stop()
  })

  it('all sagas that wait for it receive it, and so do later ones', async () => {
    const definition = definitionOf('many')
    const coordinator = run([definition])
    const key = randomUUID()
    const early = [await coordinator.start(definition, { key }), await coordinator.start(definition, { key })]
    for (const { id } of early) await expect.poll(() => isAsleep(id)).toBe(true)
    await coordinator.signal({ name: 'many', key, payload: 'p' })
    const late = await coordinator.start(definition, { key })
    for (const handle of [...early, late]) {
      expect((await handle.result()).result).toEqual({ timedOut: false, payload: 'p' })
    }
    await coordinator.stop()
  })

  it('for a saga that has ended, it is kept and changes nothing', async () => {
    const definition = definitionOf('ended')
    const coordinator = run([definition])
    const key = randomUUID()
    const handle = await coordinator.start(definition, { key })
    await expect.poll(() => isAsleep(handle.id)).toBe(true)
    await under.moveMs(90 * DAY_MS + 1)
    coordinator.wake()
    expect((await handle.result()).result).toEqual({ timedOut: true })
    const before = await under.storage.getSaga(handle.id)
    expect((await coordinator.signal({ name: 'ended', key, payload: 1 })).created).toBe(true)
    await under.storage.passNewsOn(10)
    expect(await under.storage.getSaga(handle.id)).toEqual(before)
    await coordinator.stop()
  })

  it('is removed when its time is over, unless a saga still has to read it; then it may be sent anew', async () => {
    const definition = definitionOf('old')
    const [read, unread] = [randomUUID(), randomUUID()]
    // No coordinator runs it: it waits, and its signal was sent.
    const { saga: stored } = await startSaga(under.storage, definition, { key: unread })
    const coordinator = run([definition])
    await expect
      .poll(
        async () => (await under.storage.listSteps(stored.id))[0]?.state === 'Running' && isAsleep(stored.id),
      )
      .toBe(true)
    await coordinator.stop()
    for (const key of [read, unread]) await sendSignal(under.storage, { name: 'old', key, payload: 1 })
    // Those of the tests before, whose time is over; not these.
    await under.storage.cleanUpSignals(100)
    expect(await under.storage.cleanUpSignals(100)).toBe(0)
    await under.moveMs(30 * DAY_MS + 1)
    await under.storage.cleanUpSignals(100)
    const left = await under.storage.findSignals([read, unread].map((key) => ({ name: 'old', key })))
    expect([...left]).toEqual([[`signal:old:${unread}`, { payload: 1 }]])
    expect((await sendSignal(under.storage, { name: 'old', key: read, payload: 2 })).created).toBe(true)
    const again = run([definition])
    await expect.poll(async () => (await under.storage.getSaga(stored.id))?.state).toBe('Completed')
    await again.stop()
  })

  it('news for a locked saga is not lost: the saga is due again when it is released', async () => {
    const definition = definitionOf('held')
    const key = randomUUID()
    await startSaga(under.storage, definition, { key })
    const request = { owner: 'me', leaseMs: 60_000, limit: 1 }
    const wanted = [{ name: definition.name, version: 1, limit: 1 }]
    const [claimed] = await under.storage.claim({ ...request, definitions: wanted })
    if (claimed === undefined) throw new Error('nothing was due')
    const { saga: held } = claimed
    const step = { attempts: 1, maxAttempts: 1, error: null, compensation: null }
    const base = { sagaId: held.id, owner: 'me', state: 'Running', currentStep: 0, error: null } as const
    await under.storage.write(
      [
        {
          ...{ ...base, version: held.version, awaitingOperator: false, events: [] },
          steps: [{ ...step, index: 0, state: 'Running', started: true, waitsFor: `signal:held:${key}` }],
        },
      ],
      60_000,
    )
    await sendSignal(under.storage, { name: 'held', key })
    await under.storage.passNewsOn(10)
    expect((await under.storage.getSaga(held.id))?.leaseOwner).toBe('me')
    await under.storage.write(
      [
        {
          ...{ ...base, version: held.version + 1, awaitingOperator: false, events: [], steps: [] },
          release: { wakeInMs: null },
        },
      ],
      60_000,
    )
    const again = await under.storage.claim({ ...request, definitions: wanted })
    expect(again.map(({ saga: { id } }) => id)).toEqual([held.id])
  })
})

describe('signals in the caller’s own transaction', () => {
  const database = useDatabase()

  it('exist if and only if it commits, and delay no other saga meanwhile', async () => {
    const definition = definitionOf('own')
    const storage = createPostgresStorage({ pool: database.as('saga_app_role') })
    const coordinator = createCommandedCoordinator({
      storage,
      definitions: [definition],
      onError: (error) => console.error(error),
      pollMs: 10,
    })
    const handle = await coordinator.start(definition, { key: 'k' })
    await expect.poll(async () => (await storage.getSaga(handle.id))?.leaseOwner).toBe(null)
    const client = await database.as('event_publisher').connect()
    try {
      await client.query('BEGIN')
      await coordinator.signal({ name: 'own', key: 'k', payload: 'no' }, client)
      await client.query('ROLLBACK')
      expect(await storage.findSignals([{ name: 'own', key: 'k' }])).toEqual(new Map())
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT 1')
      await coordinator.signal({ name: 'own', key: 'k', payload: 'yes' }, client)
      // Its row is not locked: another may write it while the transaction is open.
      await database.pool.query(`SELECT FROM sagapost.saga_instances WHERE id = $1 FOR UPDATE NOWAIT`, [
        handle.id,
      ])
      await client.query('COMMIT')
    } finally {
      client.release()
    }
    expect((await handle.result()).result).toEqual({ timedOut: false, payload: 'yes' })
    await coordinator.stop()
  })
})

describe('signals that cannot be read', () => {
  const database = useDatabase()
  beforeAll(() => installClock(database.pool))
  const storageWith = (dataBox?: ReturnType<typeof createDataBox>) =>
    createPostgresStorage({ pool: database.as('saga_app_role'), ...(dataBox && { dataBox }) })
  const paidOf = (key: string) =>
    saga(`unreadable-${randomUUID().slice(0, 8)}`)
      .waitFor('news', { signal: 'unreadable', key: () => key, timeout: '1h' })
      .step('read', { run: ({ outputs }) => outputs.news })
  const keys = [1, 2].map((byte) => createDataBox(Buffer.alloc(32, byte)))

  it.each([
    ['without a key', undefined],
    ['with a key', keys[0]],
  ])('[G15] without any key fail the step and not the coordinator: %s', async (_, box) => {
    const key = randomUUID()
    const definition = paidOf(key)
    const errors: Error[] = []
    const storage = storageWith(box)
    const coordinator = createCommandedCoordinator({
      storage,
      definitions: [definition],
      onError: (error) => errors.push(error),
      pollMs: 10,
    })
    await database
      .as('event_publisher')
      .query('SELECT FROM sagapost.signal($1, $2, $3)', ['unreadable', key, '{"$sagapost_sealed":"x"}'])
    const handle = await coordinator.start(definition, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { code: 'signal_invalid' } })
    await coordinator.stop()
    expect(errors).toEqual([])
  })

  it.each([
    ['has none', undefined],
    ['has another', keys[1]],
  ])(
    '[G15] without its key are left to a process that has it: one that %s sets the saga aside',
    async (_, box) => {
      const key = randomUUID()
      const definition = paidOf(key)
      await sendSignal(storageWith(keys[0]), { name: 'unreadable', key, payload: 7 })
      // Its note is passed on before anybody waits: later, it would wake the saga for a second look, and a second error.
      await storageWith().passNewsOn(100)
      const errors: unknown[] = []
      const run = (storage: ReturnType<typeof storageWith>) =>
        createCommandedCoordinator({
          storage,
          definitions: [definition],
          onError: (error) => errors.push((error as { code?: unknown }).code),
          pollMs: 10,
        })
      const poor = run(storageWith(box))
      const { id } = await poor.start(definition, undefined)
      await expect.poll(() => errors).toEqual(['saga_data_unreadable'])
      await poor.stop()
      const aside = await storageWith().getSaga(id)
      expect(aside).toMatchObject({ state: 'Running', leaseOwner: null })
      expect(Number(aside?.wakeAt)).toBeGreaterThan(Number(aside?.updatedAt) + 50_000)
      await moveClock(database.pool, '61 s')
      const rich = run(storageWith(keys[0]))
      await expect.poll(async () => (await storageWith(keys[0]).getSaga(id))?.state).toBe('Completed')
      await rich.stop()
      expect(errors).toHaveLength(1)
      await expectHistoryToReplay(storageWith(keys[0]), id)
    },
  )
})

describe('what the sender of a repeated signal learns', () => {
  const database = useDatabase()
  const box = createDataBox(Buffer.alloc(32, 3))
  const send = (payload: string | null, key: string) =>
    database
      .as('event_publisher')
      .query('SELECT * FROM sagapost.signal($1, $2, $3)', ['told', key, payload])
      .then(({ rows: [row] }) => row)

  it('is when it was sent, and whether it is the same; not its payload', async () => {
    const key = randomUUID()
    expect(Object.keys(await send('{"card":"4111","n":1}', key))).toEqual([
      ...['created', 'received_at', 'expires_at', 'same'],
    ])
    expect(await send('{"n":1.0,"card":"4111"}', key)).toMatchObject({ created: false, same: true })
    for (const other of ['{"card":"4112","n":1}', '7', null, '"\\u0000"', '{"n":1e100000}', '[1e99999]']) {
      expect(await send(other, key)).toMatchObject({ created: false, same: false })
    }
    const huge = randomUUID()
    await send('[1e100000,"\\ud800"]', huge)
    expect(await send('[1e100000,"\\ud800"]', huge)).toMatchObject({ same: true })
    expect(await send('[1e100000, "\\ud800"]', huge)).toMatchObject({ same: false })
    expect(await send(null, randomUUID())).toMatchObject({ created: true, same: true })
  })

  it('[G15] of an encrypted one, only a process that has the key and may read it can compare', async () => {
    const key = randomUUID()
    const by = (role: 'saga_app_role' | 'event_publisher', dataBox?: typeof box) => (payload: unknown) =>
      sendSignal(createPostgresStorage({ pool: database.as(role), ...(dataBox && { dataBox }) }), {
        ...{ name: 'sealed', key, payload },
      })
    expect(await by('saga_app_role', box)(1)).toMatchObject({ created: true })
    expect(await by('saga_app_role', box)(1)).toMatchObject({ created: false, same: true })
    expect(await codeOf(by('saga_app_role', box)(2))).toBe('signal_conflict')
    expect(await by('saga_app_role')(2)).toMatchObject({ created: false, same: undefined })
    expect(await by('event_publisher', box)(2)).toMatchObject({ created: false, same: undefined })
  })
})
