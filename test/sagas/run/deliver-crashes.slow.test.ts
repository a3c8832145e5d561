import { randomInt, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { toHistoryEvent } from '../../../src/sagas/history-events.js'
import { createCoordinator, createPostgresStorage, saga, startSaga } from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'
import { type Crash, Crashed, dieAt } from '../crash-storage.js'
import { useDeliveries } from '../deliveries.js'
import { expectHistoryToReplay } from '../history.js'

const database = useDatabase()
const deliveries = useDeliveries(database)
const LEASE_MS = 3_600_000

interface StepPlan {
  kind: 'step' | 'transaction' | 'deliver'
  compensate: boolean
  /** A step fails for good, a delivery is dead-lettered. */
  fatal: boolean
  receivers: number
}

interface Scenario {
  steps: StepPlan[]
  crashes: Crash[]
  cancelAfterWrites: number | null
}

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(
    fc.record({
      kind: fc.constantFrom('step', 'transaction', 'deliver', 'deliver'),
      compensate: fc.boolean(),
      fatal: fc.constantFrom(false, false, false, false, true),
      receivers: fc.constantFrom(0, 1, 2),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  crashes: fc.array(fc.record({ afterWrites: fc.integer({ min: 0, max: 8 }), committed: fc.boolean() }), {
    maxLength: 3,
  }),
  cancelAfterWrites: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 4 }),
})

const isOver = (state: string | undefined) =>
  state !== undefined && !['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(state)

async function survive(scenario: Scenario): Promise<void> {
  const storage = createPostgresStorage({
    pool: database.as('saga_app_role'),
    transactionPool: database.pool,
  })
  const name = `crash-${randomUUID()}`
  const typeOf = (index: number) => `${name}.${index}`
  // biome-ignore lint/suspicious/noExplicitAny: the number of steps is known at run time only
  let definition: any = saga(name, { publish: true, retry: { maxAttempts: 1 } })
  for (const [index, plan] of scenario.steps.entries()) {
    for (let made = 0; plan.kind === 'deliver' && made < plan.receivers; made++) {
      await insertSubscription(database.pool, { type: typeOf(index) })
    }
    const undo = plan.compensate ? { compensate: () => {} } : {}
    const run = () => {
      if (plan.fatal) throw new NonRetryableError('never')
      return index
    }
    definition = definition[plan.kind](`s${index}`, {
      ...(plan.kind === 'deliver' ? { event: () => ({ type: typeOf(index), payload: { index } }) } : { run }),
      ...undo,
    })
  }
  const { saga: made } = await startSaga(storage, definition, undefined)
  const { id } = made
  const published = async () => {
    const { rows } = await database.pool.query(
      'SELECT id, event_type, payload FROM sagapost.events WHERE correlation_id = $1 ORDER BY id',
      [id],
    )
    return rows as { id: string; event_type: string; payload: unknown }[]
  }
  /** What the router and the receivers do meanwhile. */
  const turnTheWorld = async () => {
    await deliveries.route()
    for (const event of await published()) {
      const index = scenario.steps.findIndex((_, place) => typeOf(place) === event.event_type)
      if (index < 0) continue
      const dead = scenario.steps[index]?.fatal
      const [first] = await deliveries.list(event.id)
      if (dead && first) await deliveries.end(event.id, 'DeadLettered', first)
      await deliveries.end(event.id, 'Completed')
    }
  }
  let writes = 0
  const onWrite = () => {
    if (writes++ === scenario.cancelAfterWrites) {
      void storage.requestCancel(id, { by: 'test', reason: 'enough' }).catch(() => {})
    }
  }
  for (const crash of [...scenario.crashes, null]) {
    let dead = false
    const { mortal, death } = dieAt(storage, crash, onWrite)
    void death.then(() => {
      dead = true
    })
    const coordinator = createCoordinator({
      storage: mortal,
      definitions: [definition],
      onError: (error) => {
        if (!(error instanceof Crashed)) throw error
      },
      leaseMs: LEASE_MS,
      pollMs: 5,
      abortGraceMs: 5,
    })
    await expect
      .poll(
        async () => {
          await turnTheWorld()
          // Nobody waits for the time to the next look.
          await database.pool.query(
            'UPDATE sagapost.saga_awaited_events SET look_at = sagapost.now() WHERE saga_id = $1 AND look_at IS NOT NULL',
            [id],
          )
          return dead || isOver((await storage.getSaga(id))?.state)
        },
        { interval: 5 },
      )
      .toBe(true)
    await coordinator.stop({ timeoutMs: 0 })
    if (isOver((await storage.getSaga(id))?.state)) break
    await moveClock(database.pool, `${LEASE_MS + 1} ms`)
  }

  const saved = await storage.getSaga(id)
  const steps = await storage.listSteps(id)
  expect(['Completed', 'Compensated', 'Cancelled']).toContain(saved?.state)
  const doomed = ({ kind, fatal, receivers }: StepPlan) => fatal && (kind !== 'deliver' || receivers > 0)
  if (scenario.steps.some(doomed)) expect(saved?.state).not.toBe('Completed')
  else if (scenario.cancelAfterWrites === null) expect(saved?.state).toBe('Completed')
  const events = await published()
  // One event for each delivering step that was begun, none for others.
  for (const [index, { kind }] of scenario.steps.entries()) {
    const own = events.filter(({ event_type }) => event_type === typeOf(index))
    expect(own).toHaveLength(kind === 'deliver' && (steps[index]?.attempts ?? 0) > 0 ? 1 : 0)
  }
  // One for each entry of the history, in its order.
  await expectHistoryToReplay(storage, id)
  const history = await storage.listEvents(id)
  const told = events.filter(({ event_type }) => event_type.startsWith('saga.'))
  expect(told.map(({ event_type: type, payload }) => ({ type, payload }))).toEqual(
    history.map((entry) => toHistoryEvent({ saga: saved as never, steps }, entry)),
  )
}

beforeAll(() => installClock(database.pool))

describe('a saga that publishes and delivers', () => {
  const steps: StepPlan[] = [
    { kind: 'step', compensate: true, fatal: false, receivers: 0 },
    { kind: 'deliver', compensate: true, fatal: false, receivers: 2 },
    { kind: 'transaction', compensate: true, fatal: false, receivers: 0 },
  ]
  const last = (fatal: boolean): StepPlan => ({ kind: 'deliver', compensate: true, fatal, receivers: 1 })

  it.each([
    ['before', false],
    ['after', true],
  ] as const)('[G14] survives a crash just %s each of its writes, forward and back', async (_, committed) => {
    for (const fatal of [false, true]) {
      for (let afterWrites = 0; afterWrites <= (fatal ? 14 : 7); afterWrites++) {
        await survive({
          steps: [...steps, last(fatal)],
          crashes: [{ afterWrites, committed }],
          cancelAfterWrites: null,
        })
      }
    }
  })

  it('[G14] of any shape survives any crashes and a cancel, each event stored once', async () => {
    const seed = Number(process.env['SAGA_SEED'] ?? randomInt(2 ** 31))
    await fc.assert(fc.asyncProperty(scenarios, survive), { seed, numRuns: 25, endOnFailure: true })
  })
})
