import { randomInt, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Saga } from '../../../src/sagas/define/index.js'
import {
  type Coordinator,
  createCoordinator,
  createPostgresStorage,
  type StateStorage,
  saga,
} from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { type Crash, Crashed, dieAt } from '../crash-storage.js'
import { expectHistoryToReplay } from '../history.js'

const database = useDatabase()
const LEASE_MS = 3_600_000

/** How one step behaves: what it is, how often its runs and undos fail first (for good when `fatal`). */
interface StepPlan {
  transaction: boolean
  compensate: boolean
  failures: number
  fatal: boolean
  undoFailures: number
}

interface Scenario {
  steps: StepPlan[]
  compensation: 'reverse' | 'best_effort' | 'parallel'
  /** One of each process. */
  crashes: Crash[]
  cancelAfterWrites: number | null
}

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(
    fc.record({
      transaction: fc.boolean(),
      compensate: fc.boolean(),
      failures: fc.constantFrom(0, 0, 0, 1),
      fatal: fc.constantFrom(false, false, false, false, true),
      undoFailures: fc.constantFrom(0, 0, 1),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  compensation: fc.constantFrom('reverse', 'best_effort', 'parallel'),
  crashes: fc.array(fc.record({ afterWrites: fc.integer({ min: 0, max: 12 }), committed: fc.boolean() }), {
    maxLength: 3,
  }),
  cancelAfterWrites: fc.option(fc.integer({ min: 0, max: 10 }), { freq: 4 }),
})

/** A saga of five steps with compensations, for the crash at every single point. */
const five = (fatal: boolean): StepPlan[] =>
  Array.from({ length: 5 }, (_, index) => ({
    transaction: index % 2 === 1,
    compensate: true,
    failures: 0,
    fatal: fatal && index === 4,
    undoFailures: 0,
  }))

interface World {
  definition: Saga<undefined, undefined, Record<never, never>>
  /** Calls of run and compensate, by step. */
  runs: number[]
  undos: number[]
  /** Runs that were called after the row had been Completed. */
  late: string[]
}

interface Context {
  sagaId: string
  signal: AbortSignal
}

function build(scenario: Scenario, isCompleted: (sagaId: string, index: number) => Promise<boolean>): World {
  const retry = { maxAttempts: 2, backoff: 'fixed', initialInterval: '1ms', jitter: 'none' } as const
  const world: Omit<World, 'definition'> = {
    runs: scenario.steps.map(() => 0),
    undos: scenario.steps.map(() => 0),
    late: [],
  }
  // biome-ignore lint/suspicious/noExplicitAny: the number of steps is known at run time only
  let definition: any = saga(`crash-${randomUUID()}`, { retry, compensation: scenario.compensation })
  for (const [index, plan] of scenario.steps.entries()) {
    const fail = () => {
      if (plan.fatal) throw new NonRetryableError('never')
      if ((world.runs[index] ?? 0) <= plan.failures) throw new Error('not yet')
    }
    const count = async ({ sagaId, signal }: Context) => {
      world.runs[index] = (world.runs[index] ?? 0) + 1
      // Whoever was told to stop is not waited for long, and what it reads may be what came after it.
      if ((await isCompleted(sagaId, index)) && !signal.aborted) world.late.push(`step ${index}`)
    }
    const compensate = () => {
      world.undos[index] = (world.undos[index] ?? 0) + 1
      if ((world.undos[index] ?? 0) <= plan.undoFailures) throw new Error('not undone yet')
    }
    definition = plan.transaction
      ? definition.transaction(`s${index}`, {
          run: async (context: Context & { tx: { query(sql: string, values: unknown[]): unknown } }) => {
            await count(context)
            await context.tx.query('INSERT INTO public.done (saga_id, step) VALUES ($1, $2)', [
              context.sagaId,
              index,
            ])
            fail()
            return index
          },
          ...(plan.compensate ? { compensate } : {}),
        })
      : definition.step(`s${index}`, {
          run: async (context: Context) => {
            await count(context)
            fail()
            return index
          },
          ...(plan.compensate ? { compensate } : {}),
        })
  }
  return { ...world, definition }
}

const isOver = (state: string | undefined) =>
  state !== undefined && !['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(state)

/** Runs the scenario through all its crashes, checks what must hold whatever happened, and answers how many there were. */
async function survive(scenario: Scenario): Promise<number> {
  const storage = createPostgresStorage({
    pool: database.as('saga_app_role'),
    transactionPool: database.pool,
  })
  const isCompleted = async (sagaId: string, index: number) => {
    const step = (await storage.listSteps(sagaId))[index]
    return step !== undefined && !['Pending', 'Running', 'Failed'].includes(step.state)
  }
  const world = build(scenario, isCompleted)
  const { definition } = world
  const { id } = await createOnce(storage, definition)
  let writes = 0
  let crashed = 0
  const onWrite = () => {
    if (writes++ === scenario.cancelAfterWrites) {
      void storage.requestCancel(id, { by: 'test', reason: 'enough' }).catch(() => {})
    }
  }
  for (const crash of [...scenario.crashes, null]) {
    const { mortal, death } = dieAt(storage, crash, onWrite)
    const coordinator: Coordinator = createCoordinator({
      storage: mortal,
      definitions: [definition],
      onError: (error) => {
        if (!(error instanceof Crashed)) throw error
      },
      leaseMs: LEASE_MS,
      pollMs: 5,
      abortGraceMs: 5,
    })
    let died = false
    void death.then(() => {
      died = true
    })
    await expect
      .poll(async () => died || isOver((await storage.getSaga(id))?.state), { interval: 5 })
      .toBe(true)
    await coordinator.stop({ timeoutMs: 0 })
    if (!died) break
    crashed++
    await moveClock(database.pool, `${LEASE_MS + 1} ms`)
  }
  await check(scenario, world, storage, id, crashed)
  return crashed
}

async function createOnce(storage: StateStorage, definition: World['definition']) {
  const starter = createCoordinator({ storage, definitions: [], onError: () => {} })
  const handle = await starter.start(definition, undefined)
  await starter.stop({ timeoutMs: 0 })
  return handle
}

async function check(
  { steps: plans, cancelAfterWrites }: Scenario,
  { runs, undos, late }: World,
  storage: StateStorage,
  id: string,
  crashed: number,
): Promise<void> {
  const stored = await storage.getSaga(id)
  const steps = await storage.listSteps(id)
  // A legal end, with nothing left under way.
  const legal = ['Completed', 'Compensated', 'Failed', ...(cancelAfterWrites === null ? [] : ['Cancelled'])]
  expect(legal).toContain(stored?.state)
  expect(stored).toMatchObject({ leaseOwner: null, leaseUntil: null })
  expect(steps.filter(({ state }) => state === 'Running' || state === 'Compensating')).toEqual([])
  if (stored?.state === 'Completed') expect(steps.every(({ state }) => state === 'Completed')).toBe(true)
  if (plans.some(({ fatal }) => fatal)) expect(stored?.state).not.toBe('Completed')
  // No completed step ran again.
  expect(late).toEqual([])
  // What stands in the rows is what was called, but for calls that a crash kept from being made.
  const missed = steps.reduce((sum, { attempts }, index) => sum + attempts - (runs[index] ?? 0), 0)
  expect(missed).toBeGreaterThanOrEqual(0)
  expect(missed).toBeLessThanOrEqual(crashed + (cancelAfterWrites === null ? 0 : 1))
  // At most one run in doubt for each crash.
  const events = await storage.listEvents(id)
  const interrupted = events.filter(
    ({ type, error }) => type === 'saga.step.failed' && error?.code === 'run_interrupted',
  )
  expect(interrupted.length).toBeLessThanOrEqual(crashed)
  // Transactional steps exactly once.
  const { rows } = await database.pool.query(
    'SELECT step, count(*)::int AS times FROM public.done WHERE saga_id = $1 GROUP BY step ORDER BY step',
    [id],
  )
  const transacted = steps.filter(({ index, output }) => plans[index]?.transaction && output !== undefined)
  expect(rows).toEqual(transacted.map(({ index }) => ({ step: index, times: 1 })))
  // Everything that was done is undone, unless an undo failed for good.
  if (stored?.state === 'Compensated' || stored?.state === 'Cancelled') {
    const left = steps.filter(({ index, state }) => plans[index]?.compensate && state === 'Completed')
    expect(left).toEqual([])
  }
  for (const { index, state } of steps) if (state === 'Compensated') expect(undos[index]).toBeGreaterThan(0)
  await expectHistoryToReplay(storage, id)
}

beforeAll(async () => {
  await installClock(database.pool)
  await database.pool.query('CREATE TABLE public.done (saga_id text NOT NULL, step int NOT NULL)')
})

describe.each([
  ['forward', false],
  ['forward and back', true],
] as const)('a saga of five steps with compensations, %s', (_, fatal) => {
  it.each([
    ['before', false],
    ['after', true],
  ] as const)('[G14] survives a crash just %s each of its writes', async (_, committed) => {
    // Until it has fewer writes than that, and no process dies.
    for (let afterWrites = 0, crashed = 1; crashed > 0; afterWrites++) {
      crashed = await survive({
        steps: five(fatal),
        compensation: 'reverse',
        crashes: [{ afterWrites, committed }],
        cancelAfterWrites: null,
      })
    }
  })
})

it('[G14, G6] random sagas survive random crashes', { timeout: 600_000 }, async () => {
  const seed = Number(process.env['SAGA_SEED'] ?? randomInt(2 ** 31))
  const numRuns = Number(process.env['SAGA_RUNS'] ?? 50)
  console.log(`crash generator: SAGA_SEED=${seed} SAGA_RUNS=${numRuns}`)
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => void (await survive(scenario))),
    { seed, numRuns, endOnFailure: true },
  )
})
