import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { createPostgresStorage, saga } from '../../../src/sagas/index.js'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'
import { type CommandedCoordinator, createCommandedCoordinator } from '../commanded-coordinator.js'
import { useDeliveries } from '../deliveries.js'
import { expectHistoryToReplay, historyOf } from '../history.js'

const database = useDatabase()
const deliveries = useDeliveries(database)
const running: CommandedCoordinator[] = []
afterEach(async () => {
  for (const coordinator of running.splice(0)) await coordinator.stop({ timeoutMs: 0 })
})

const storage = () =>
  createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: database.pool })

// biome-ignore lint/suspicious/noExplicitAny: any definition
function coordinate(definition: any): CommandedCoordinator {
  const coordinator = createCommandedCoordinator({
    storage: storage(),
    definitions: [definition],
    onError: (error) => {
      throw error
    },
    pollMs: 20,
  })
  running.push(coordinator)
  return coordinator
}

const stateOf = async (id: string) => (await storage().getSaga(id))?.state

/** The events of a type, the oldest first. */
async function eventsOf(type: string) {
  const { rows } = await database.pool.query(
    'SELECT id, payload::text AS payload, correlation_id, traceparent FROM sagapost.events WHERE event_type = $1 ORDER BY id',
    [type],
  )
  return rows as { id: string; payload: string; correlation_id: string; traceparent: string }[]
}

/** A saga that has published its event and waits, with the given number of receivers. */
async function waiting(options: Record<string, unknown> = {}, { receivers = 1, pivot = false } = {}) {
  const type = `order.${randomUUID()}`
  for (let made = 0; made < receivers; made++) await insertSubscription(database.pool, { type })
  const undone: unknown[] = []
  const paid = saga<{ order: number }>(`deliver-${randomUUID()}`).step('pay', {
    run: ({ input }) => ({ payment: input.order * 10 }),
    compensate: ({ output }) => undone.push(['pay', output]),
  })
  const definition = (pivot ? paid.pivot() : paid).deliver('tell', {
    event: ({ input, outputs }) => ({ type, payload: { order: input.order, ...outputs.pay } }),
    ...(pivot ? {} : { compensate: ({ output }) => undone.push(['tell', output]) }),
    ...options,
  })
  const coordinator = coordinate(definition)
  const handle = await coordinator.start(definition, { order: 7 })
  await expect.poll(async () => (await eventsOf(type)).length).toBe(1)
  const [event] = await eventsOf(type)
  if (event === undefined) throw new Error('there is no event')
  const ended = async () => {
    await expect.poll(() => stateOf(handle.id)).toMatch(/Completed|Compensated|Failed|Cancelled|TimedOut/)
    return storage().getSaga(handle.id)
  }
  return { type, definition, coordinator, id: handle.id, event, undone, ended }
}

/** Waits until it waits for an operator, who can see why. */
async function stuck(id: string, code: string): Promise<void> {
  const errors = async () => {
    const found = await storage().listSagas({ awaitingOperator: true })
    if (!found.some((each) => each.id === id && each.state === 'Running')) return []
    return (await storage().listSteps(id)).flatMap(({ state, error }) =>
      state === 'Running' ? error?.code : [],
    )
  }
  await expect.poll(errors).toEqual([code])
}

describe('a step that delivers an event', () => {
  it('[G14] stores it with its intent, holds nothing meanwhile, and completes with the last delivery', async () => {
    const { id, event, ended } = await waiting({}, { receivers: 2 })
    expect(event.payload).toBe('{"order":7,"payment":70}')
    const before = await storage().getSaga(id)
    expect(before).toMatchObject({ state: 'Running', currentStep: 1 })
    expect(event.correlation_id).toBe(id)
    expect(event.traceparent).toMatch(new RegExp(`^00-${before?.traceId}-[0-9a-f]{16}-01$`))
    await expect.poll(() => storage().getSaga(id)).toMatchObject({ leaseOwner: null, wakeAt: null })
    await deliveries.route()
    const [first = '', second = ''] = await deliveries.list(event.id)
    await deliveries.end(event.id, 'Completed', first)
    await database.pool.query('SELECT sagapost.note_deliveries(100)')
    expect(await stateOf(id)).toBe('Running')
    await deliveries.end(event.id, 'Completed', second)
    expect(await ended()).toMatchObject({ state: 'Completed', result: { eventId: event.id, deliveries: 2 } })
    expect(await historyOf(storage(), id)).toEqual([
      ...['saga.started', 'saga.step.started 0', 'saga.step.completed 0'],
      ...['saga.step.started 1', 'saga.step.completed 1', 'saga.completed'],
    ])
    await expectHistoryToReplay(storage(), id)
    const { rows } = await database.pool.query(
      'SELECT look_at FROM sagapost.saga_awaited_events WHERE saga_id = $1',
      [id],
    )
    expect(rows).toEqual([{ look_at: null }])
  })

  it('[R1] without subscribers completes once it is routed, and not before', async () => {
    const { id, ended } = await waiting({}, { receivers: 0 })
    await database.pool.query(
      'UPDATE sagapost.saga_awaited_events SET look_at = sagapost.now() WHERE saga_id = $1',
      [id],
    )
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query(
          'SELECT look_at > stored_at AS looked FROM sagapost.saga_awaited_events WHERE saga_id = $1',
          [id],
        )
        return rows[0].looked
      })
      .toBe(true)
    expect(await stateOf(id)).toBe('Running')
    await deliveries.route()
    expect(await ended()).toMatchObject({ state: 'Completed', result: { deliveries: 0 } })
  })

  it('[S17] fails when one is dead-lettered, though others are open, and finished steps are undone', async () => {
    const { id, event, undone, ended } = await waiting({}, { receivers: 3 })
    await deliveries.route()
    const [first = '', second = ''] = await deliveries.list(event.id)
    await deliveries.end(event.id, 'Completed', second)
    await deliveries.end(event.id, 'DeadLettered', first)
    expect(await ended()).toMatchObject({
      state: 'Compensated',
      error: { code: 'delivery_dead_lettered', message: `a delivery of event ${event.id} could not be made` },
    })
    expect(undone).toEqual([
      ['tell', undefined],
      ['pay', { payment: 70 }],
    ])
    await expectHistoryToReplay(storage(), id)
  })

  it('[S19, D4] waits for an operator if configured to, and a requeue completes the saga', async () => {
    const { id, event, undone, ended } = await waiting({ onDeadLetter: 'wait' })
    await deliveries.route()
    await deliveries.end(event.id, 'DeadLettered')
    await stuck(id, 'delivery_dead_lettered')
    await deliveries.requeue(event.id)
    await expect
      .poll(() => storage().getSaga(id))
      .toMatchObject({ state: 'Running', awaitingOperator: false })
    expect((await storage().listSteps(id))[1]).toMatchObject({ state: 'Running', error: null })
    // It dies once more, and once more it is taken up.
    await deliveries.end(event.id, 'DeadLettered')
    await stuck(id, 'delivery_dead_lettered')
    await deliveries.requeue(event.id)
    await deliveries.end(event.id, 'Completed')
    expect(await ended()).toMatchObject({
      state: 'Completed',
      awaitingOperator: false,
      result: { eventId: event.id, deliveries: 1 },
    })
    expect(undone).toEqual([])
    await expectHistoryToReplay(storage(), id)
  })

  it('[S19, D4] a delivery that is requeued and dead again between two checks is noticed, and can be requeued again', async () => {
    const { id, event, definition, coordinator, ended } = await waiting({ onDeadLetter: 'wait' })
    const awaited = async () => {
      const { rows } = await database.pool.query(
        'SELECT told FROM sagapost.saga_awaited_events WHERE saga_id = $1',
        [id],
      )
      return { ...rows[0], operator: (await storage().getSaga(id))?.awaitingOperator }
    }
    await deliveries.route()
    await deliveries.end(event.id, 'DeadLettered')
    await expect.poll(awaited).toEqual({ told: 'dead 1 1', operator: true })
    let looker = coordinator
    for (const told of ['dead 2 1', 'dead 3 1']) {
      await looker.stop()
      await deliveries.requeue(event.id)
      await deliveries.end(event.id, 'DeadLettered')
      await database.pool.query(
        'UPDATE sagapost.saga_awaited_events SET look_at = sagapost.now() WHERE saga_id = $1',
        [id],
      )
      looker = coordinate(definition)
      await expect.poll(awaited).toEqual({ told, operator: true })
    }
    await deliveries.requeue(event.id)
    await deliveries.end(event.id, 'Completed')
    expect(await ended()).toMatchObject({ state: 'Completed', result: { deliveries: 1 } })
    await expectHistoryToReplay(storage(), id)
  })

  it('[G14] past the pivot it waits for an operator whatever its setting, and a requeue completes it', async () => {
    const retry = { maxAttempts: 1, initialInterval: '10ms', maxInterval: '20ms' }
    const { id, type, event, ended } = await waiting({ retry, timeout: '50ms' }, { pivot: true })
    await deliveries.route()
    await deliveries.end(event.id, 'DeadLettered')
    await stuck(id, 'delivery_dead_lettered')
    await expect
      .poll(() => storage().getSaga(id))
      .toMatchObject({ awaitingOperator: true, leaseOwner: null, wakeAt: null })
    expect(await eventsOf(type)).toHaveLength(1)
    await deliveries.requeue(event.id)
    await deliveries.end(event.id, 'Completed')
    expect(await ended()).toMatchObject({ state: 'Completed', result: { deliveries: 1 } })
    expect((await storage().listSteps(id))[1]).toMatchObject({ state: 'Completed', error: null })
    await expectHistoryToReplay(storage(), id)
  })

  it.each([
    ['told to wait', { onDeadLetter: 'wait' }, false],
    ['past the pivot', {}, true],
  ])('[G14, G6] is skipped by an operator who cannot requeue: %s', async (_, options, pivot) => {
    const { id, event, undone, coordinator, ended } = await waiting(options, { pivot })
    await deliveries.route()
    await deliveries.end(event.id, 'DeadLettered')
    await stuck(id, 'delivery_dead_lettered')
    const word = { by: 'ann', why: 'the receiver is gone for good' }
    for (const action of ['retry', 'resolve'] as const) {
      await expect(coordinator.resolve(id, { action, ...word })).rejects.toMatchObject({
        code: 'saga_not_awaiting_operator',
        message: expect.stringContaining('could not be made'),
      })
    }
    expect(await stateOf(id)).toBe('Running')
    await coordinator.resolve(id, { action: 'skip', ...word })
    expect(await ended()).toMatchObject({ state: 'Completed', awaitingOperator: false, result: undefined })
    expect((await storage().listSteps(id)).map(({ state }) => state)).toEqual(['Completed', 'Skipped'])
    expect(undone).toEqual([])
    expect(
      (await storage().listEvents(id)).find(({ newState, stepIndex }) => stepIndex && newState === 6),
    ).toMatchObject({
      type: 'state.changed',
      oldState: 1,
      data: { action: 'skip', ...word },
    })
    await expect(coordinator.resolve(id, { action: 'skip', ...word })).rejects.toMatchObject({
      code: 'saga_not_awaiting_operator',
    })
    await expectHistoryToReplay(storage(), id)
  })

  it('[G14] skipped, it is the last before the pivot as well as any other', async () => {
    const type = `order.${randomUUID()}`
    await insertSubscription(database.pool, { type })
    const definition = saga(`deliver-${randomUUID()}`)
      .deliver('tell', { event: () => ({ type, payload: 1 }), onDeadLetter: 'wait' })
      .pivot()
    const coordinator = coordinate(definition)
    const { id } = await coordinator.start(definition, undefined)
    await expect.poll(async () => (await eventsOf(type)).length).toBe(1)
    await deliveries.route()
    await deliveries.end((await eventsOf(type))[0]?.id ?? '', 'DeadLettered')
    await stuck(id, 'delivery_dead_lettered')
    await coordinator.resolve(id, { action: 'skip', by: 'ann', why: 'it is late' })
    await expect.poll(() => storage().getSaga(id)).toMatchObject({ state: 'Completed' })
    expect((await storage().getSaga(id))?.pivotedAt).not.toBeNull()
  })

  it('[G14] past the pivot, a missing event waits for an operator as well', async () => {
    const { id, coordinator, ended } = await waiting({}, { receivers: 0, pivot: true })
    await database.pool.query(
      'UPDATE sagapost.saga_awaited_events SET event_id = 900000, look_at = sagapost.now() WHERE saga_id = $1',
      [id],
    )
    await stuck(id, 'delivery_unknown')
    await coordinator.resolve(id, { action: 'skip', by: 'ann', why: 'long ago' })
    expect(await ended()).toMatchObject({ state: 'Completed' })
  })

  it('[G14] is stopped by a cancel, and its undo is told that the recipients are unknown', async () => {
    const { id, event, undone, coordinator, ended } = await waiting()
    await deliveries.route()
    expect(await coordinator.cancel(id, { by: 'ann', reason: 'a mistake' })).toBe('requested')
    expect(await ended()).toMatchObject({ state: 'Cancelled' })
    expect(undone).toEqual([
      ['tell', undefined],
      ['pay', { payment: 70 }],
    ])
    // The event was sent; the saga no longer depends on its deliveries.
    await deliveries.end(event.id, 'Completed')
    await expect
      .poll(async () => {
        await database.pool.query(
          'UPDATE sagapost.saga_awaited_events SET look_at = sagapost.now() WHERE saga_id = $1 AND look_at IS NOT NULL',
          [id],
        )
        const { rows } = await database.pool.query(
          'SELECT look_at FROM sagapost.saga_awaited_events WHERE saga_id = $1',
          [id],
        )
        return rows
      })
      .toEqual([{ look_at: null }])
    expect(await stateOf(id)).toBe('Cancelled')
  })

  it('[G14] fails when its own time is up', async () => {
    const { ended } = await waiting({ timeout: '50ms' })
    await deliveries.route()
    expect(await ended()).toMatchObject({ state: 'Compensated', error: { code: 'step_timed_out' } })
  })

  it('[E1] fails for good with an event that could not be published, before anything is stored', async () => {
    const definition = saga(`deliver-${randomUUID()}`).deliver('tell', {
      event: () => ({ type: 'no such type!', payload: 1 }),
      retry: { maxAttempts: 3 },
    })
    const handle = await coordinate(definition).start(definition, undefined)
    expect(await handle.result()).toMatchObject({
      state: 'Compensated',
      error: { code: 'event_type_invalid', retryable: false },
    })
    expect(await eventsOf('no such type!')).toEqual([])
  })

  it('[G14] fails when its event is not known any more', async () => {
    const { id, ended } = await waiting({}, { receivers: 0 })
    await database.pool.query(
      'UPDATE sagapost.saga_awaited_events SET event_id = 900000, look_at = sagapost.now() WHERE saga_id = $1',
      [id],
    )
    expect(await ended()).toMatchObject({ state: 'Compensated', error: { code: 'delivery_unknown' } })
  })

  it('[G14] of many sagas continues under two coordinators, each event stored and awaited once', async () => {
    const type = `order.${randomUUID()}`
    await insertSubscription(database.pool, { type })
    const definition = saga<number>(`deliver-${randomUUID()}`).deliver('tell', {
      event: ({ input }) => ({ type, payload: input }),
    })
    const [one, two] = [coordinate(definition), coordinate(definition)]
    const handles = await Promise.all(
      Array.from({ length: 40 }, (_, number) => (number % 2 ? one : two).start(definition, number)),
    )
    await expect.poll(async () => (await eventsOf(type)).length).toBe(40)
    await deliveries.route()
    const events = await eventsOf(type)
    for (const { id } of events) await deliveries.end(id, 'Completed')
    const ends = await Promise.all(handles.map((handle) => handle.result()))
    expect(ends.map(({ state }) => state)).toEqual(ends.map(() => 'Completed'))
    expect(events.map(({ payload }) => Number(payload)).sort((a, b) => a - b)).toEqual(
      handles.map((_, n) => n),
    )
    expect(await eventsOf(type)).toHaveLength(40)
  })
})
