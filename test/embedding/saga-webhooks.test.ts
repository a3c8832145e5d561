import { describe, expect, it } from 'vitest'
import { type SagaHistoryEvent, saga } from '../../src/index.js'
import { type SagaEventType, sagaEventTypes, sagaMachine, sagaStepMachine } from '../../src/model/index.js'
import { createPostgresStorage, type SagaEventRecord } from '../../src/sagas/index.js'
import type { SagaError } from '../../src/sagas/saga-error.js'
import { useDatabase } from '../support/database.js'
import type { Receiver } from '../support/https-receiver.js'
import { replayHistory } from '../support/replay-history.js'
import { useInstances } from './use-instances.js'

const database = useDatabase()
const { embed, receive } = useInstances()

/** Of every type that a history can be published as. */
const types = [
  ...new Set(sagaEventTypes.map((type) => (type.startsWith('saga.') ? type : `saga.${type}`))),
  'saga.compensated',
]

async function subscribeTo(
  instance: ReturnType<typeof embed>,
  receiver: Receiver,
  eventTypes: readonly string[],
) {
  for (const eventType of eventTypes) {
    const { id } = await instance.subscriptions.create({ eventType, callbackUrl: `${receiver.url}hooks` })
    expect((await instance.subscriptions.verify(id)).verified).toBe(true)
  }
  receiver.requests.length = 0
}

/** What a receiver knows of an error. */
const known = (code: string): SagaError => ({
  ...{ code, message: '', type: null, retryable: null, timestamp: null },
  ...{ stack_trace: null, details: null, cause: null },
})

/** The history as somebody has it who only knows what arrived: each webhook once, by its sequence. */
function historyOf(receiver: Receiver, sagaId: string): SagaEventRecord[] {
  const seen = new Map<unknown, SagaHistoryEvent>()
  for (const { headers, body } of receiver.requests)
    seen.set(headers['webhook-id'], JSON.parse(body.toString()))
  return [...seen.values()]
    .filter((event) => event.sagaId === sagaId)
    .sort((a, b) => a.sequence - b.sequence)
    .map((event) => {
      const statuses: readonly string[] =
        event.step === null ? sagaMachine.statuses : sagaStepMachine.statuses
      return {
        ...{
          sagaId,
          sequence: event.sequence,
          type: event.type as SagaEventType,
          stepIndex: event.stepIndex,
        },
        ...{ timestamp: new Date(event.at), data: event.data, traceId: event.traceId, spanId: event.spanId },
        oldState: statuses.indexOf(event.oldState),
        newState: statuses.indexOf(event.newState),
        metadata: null,
        error: event.errorCode === null ? null : known(event.errorCode),
      }
    })
}

const trip = saga<{ seats: number; far: boolean }>('trip', {
  publish: true,
  retry: { maxAttempts: 2, initialInterval: '20ms' },
})
  .step('hotel', {
    run: ({ attempt }) => {
      if (attempt === 1) throw new Error('busy')
      return 'room 7'
    },
    compensate: () => {},
  })
  .parallel({
    flight: { run: () => 'seat', compensate: () => {} },
    car: {
      run: ({ input }) => (input.far ? Promise.reject(new Error('none left')) : 'car'),
      compensate: () => {},
    },
  })
  .sleep('rest', { for: '20ms' })

describe('the webhooks of a saga', () => {
  it('[G6, S18] replayed give its history exactly, whatever order they arrived in', async () => {
    let requests = 0
    // Every third one has to be sent again, and comes after those behind it.
    const receiver = await receive(() => ({ status: ++requests % 3 === 0 ? 500 : 204 }))
    const instance = embed({ databaseUrl: database.url, sagas: [trip] }, receiver)
    await instance.start()
    await subscribeTo(instance, receiver, types)
    const storage = createPostgresStorage({ pool: database.as('saga_readonly_role') })
    for (const far of [false, true]) {
      const handle = await instance.sagas.start(trip, { seats: 2, far })
      const { state } = await handle.result()
      expect(state).toBe(far ? 'Compensated' : 'Completed')
      const history = (await storage.listEvents(handle.id)).map((event) => ({
        ...event,
        metadata: null,
        error: event.error && known(event.error.code),
      }))
      await expect.poll(() => historyOf(receiver, handle.id).length).toBe(history.length)
      const seen = historyOf(receiver, handle.id)
      expect(seen).toEqual(history)
      const steps = await storage.listSteps(handle.id)
      expect(replayHistory(seen, 4)).toMatchObject({
        state,
        steps: steps.map((step) => ({ state: step.state })),
      })
    }
    const orders = receiver.requests.map(({ body }) => JSON.parse(body.toString()).sequence)
    expect(orders).not.toEqual([...orders].sort((a, b) => a - b))
  })

  it('[G14] of a transaction that is rolled back are never sent', async () => {
    const receiver = await receive()
    const silent = saga('rolled-back', { publish: true }).deliver('tell', {
      event: () => ({ type: 'trip.booked', payload: 1 }),
    })
    const instance = embed({ databaseUrl: database.url, sagas: [silent] }, receiver)
    await instance.start()
    const before = await database.pool.query('SELECT count(*)::int AS events FROM sagapost.events')
    const client = await database.pool.connect()
    await client.query('BEGIN')
    await instance.sagas.startIn(client, silent, undefined)
    await client.query('ROLLBACK')
    client.release()
    instance.wake()
    // Whatever was there before it is done once this one is.
    const marker = await instance.sagas.start(silent, undefined)
    expect((await marker.result()).state).toBe('Completed')
    const after = await database.pool.query(
      'SELECT count(*)::int AS events, count(DISTINCT correlation_id) AS sagas FROM sagapost.events WHERE correlation_id = $1',
      [marker.id],
    )
    const all = await database.pool.query('SELECT count(*)::int AS events FROM sagapost.events')
    expect(all.rows[0].events).toBe(before.rows[0].events + after.rows[0].events)
  })
})

describe('a saga that delivers', () => {
  const order = saga<{ id: number }>('order')
    .step('pay', { run: () => 'paid', compensate: () => {} })
    .deliver('tell', {
      event: ({ input }) => ({ type: 'order.paid', payload: { id: input.id } }),
      onDeadLetter: 'wait',
    })

  it('[S17, D4] waits for its receivers, and is completed by a requeue when one of them recovers', async () => {
    let down = true
    const receiver = await receive(() => ({ status: down ? 500 : 204 }))
    const instance = embed({ databaseUrl: database.url, sagas: [order], retryLimit: 2 }, receiver)
    await instance.start()
    await subscribeTo(instance, receiver, ['order.paid'])
    const handle = await instance.sagas.start(order, { id: 7 })
    const stuck = async () => (await instance.sagas.list({ awaitingOperator: true })).data.map(({ id }) => id)
    await expect.poll(stuck).toEqual([handle.id])
    down = false
    const letters = await instance.deadLetters.list({ eventType: 'order.paid' })
    for (const { id } of letters.data) await instance.deadLetters.requeue(id)
    const end = await handle.result()
    expect(end).toMatchObject({ state: 'Completed', outputs: { tell: { deliveries: 1 } } })
    expect(receiver.requests.at(-1)?.body.toString()).toBe('{"id":7}')
    expect(receiver.requests.at(-1)?.headers['sagapost-correlation-id']).toBe(handle.id)
  })
})
