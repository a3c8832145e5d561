import { randomInt, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  createCoordinator,
  resolveSaga,
  type SagaRecord,
  type StateStorage,
  startSaga,
} from '../../../src/sagas/index.js'
import { Crashed, dieAt, pauseAt } from '../crash-storage.js'
import { expectHistoryToReplay } from '../history.js'
import {
  buildConstructs,
  type ConstructScenario,
  type ConstructWorld,
  constructScenarios,
  mayGiveUp,
  SIGNAL_WAIT_MS,
} from '../random-constructs.js'
import { type StorageUnderTest, storages } from '../storages.js'

const LEASE_MS = 3_600_000

const isOver = (saga: SagaRecord | undefined) =>
  saga !== undefined &&
  !saga.awaitingOperator &&
  !['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(saga.state)

/** What others do to it meanwhile, each after a number of writes of all processes. */
interface Trouble {
  /** An operator cancels its children. */
  cancelChildren?: number
  /** Its deadline passes; it has one then. */
  deadline?: number
  /**
   * Its holder is paused before this write, another one takes over, and after so many more writes the first one goes on:
   * it believes that it holds the saga.
   */
  pause?: { at: number; resumeAfter: number }
}

/** Runs the scenario through all its crashes and troubles, and checks what must hold whatever happened. */
async function survive(
  under: StorageUnderTest,
  scenario: ConstructScenario,
  { cancelChildren, deadline, pause }: Trouble = {},
): Promise<void> {
  const { storage } = under
  const timeout = deadline === undefined ? {} : ({ timeout: '1m' } as const)
  const world = buildConstructs({ ...scenario, ...timeout }, randomUUID().slice(0, 13), storage)
  for (const { key, when } of world.signals) {
    if (when === 'early') await storage.signal({ name: 'news', key, payload: '{"n":1}' })
  }
  const { saga } = await startSaga(storage, world.definition, undefined)
  const { id } = saga
  const cancel = (sagaId: string) =>
    storage.requestCancel(sagaId, { by: 'test', reason: 'enough' }).catch(() => {})
  const childrenOf = async () => [
    ...(await storage.listSagas({ definitionId: world.child.name })),
    ...(await storage.listSagas({ definitionId: world.grandchild.name })),
  ]
  let writes = 0
  let resume: { atWrite: number; now: () => void } | undefined
  const onWrite = () => {
    if (writes === scenario.cancelAfterWrites) void cancel(id)
    if (writes === cancelChildren) void childrenOf().then((all) => all.map((child) => cancel(child.id)))
    if (writes === deadline) void under.moveMs(60_001)
    if (resume && writes >= resume.atWrite) resume.now()
    writes++
  }
  const coordinate = (mortal: StateStorage) =>
    createCoordinator({
      storage: mortal,
      definitions: [world.definition],
      onError: (error) => {
        if (!(error instanceof Crashed)) throw error
      },
      leaseMs: LEASE_MS,
      pollMs: 5,
      abortGraceMs: 5,
    })
  const overs = async () => isOver(await storage.getSaga(id)) && (await childrenOf()).every(isOver)
  /** What it waits for comes, or its time is over. */
  const endWaits = async () => {
    // Without receivers: there is no subscription.
    await under.pool?.query('DELETE FROM sagapost.event_routing_queue')
    const stored = await storage.getSaga(id)
    if (stored?.awaitingOperator) {
      const { resolution: action = 'retry' } = scenario
      await resolveSaga(storage, id, { action, by: 'test', why: 'it is late' }).catch(() => {})
    }
    const steps = await storage.listSteps(id)
    const isPaused = steps.some(
      ({ state, compensation, wakeAt }) => state === 'Failed' && compensation === null && wakeAt !== null,
    )
    if (isPaused && stored?.state === 'Running' && stored.leaseOwner === null)
      await under.moveMs(SIGNAL_WAIT_MS)
    const waiting = steps.filter(({ state }) => state === 'Running')
    for (const { key, when } of world.signals) {
      if (!waiting.some(({ waitsFor }) => waitsFor === `signal:news:${key}`)) continue
      if (when === 'late') await storage.signal({ name: 'news', key, payload: '{"n":2}' })
      if (when === 'never') await under.moveMs(SIGNAL_WAIT_MS)
    }
  }
  /** Answers whether it came first. */
  const becomeOverUnless = async (other: Promise<unknown>): Promise<boolean> => {
    let otherCame = false
    void other.then(() => {
      otherCame = true
    })
    await expect
      .poll(
        async () => {
          if (otherCame) return true
          await endWaits()
          return overs()
        },
        { interval: 5 },
      )
      .toBe(true)
    return !otherCame
  }

  const first = pause && pauseAt(storage, pause.at)
  const believer = first && coordinate(dieAt(first.pausable, null, onWrite).mortal)
  if (pause && first) {
    // With fewer writes than that no process is paused.
    await becomeOverUnless(first.paused)
    resume = { atWrite: writes + pause.resumeAfter, now: first.resume }
    await under.moveMs(LEASE_MS + 1)
  }
  for (const crash of [...scenario.crashes, null]) {
    const { mortal, death } = dieAt(storage, crash, onWrite)
    const coordinator = coordinate(mortal)
    const over = await becomeOverUnless(death)
    first?.resume()
    await coordinator.stop({ timeoutMs: 0 })
    if (over) break
    await under.moveMs(LEASE_MS + 1)
  }
  await believer?.stop({ timeoutMs: 5_000 })
  await check(under, scenario, world, id, deadline !== undefined)
}

async function check(
  { storage, pool }: StorageUnderTest,
  scenario: ConstructScenario,
  { definition, child, grandchild, calls, ends, late }: ConstructWorld,
  id: string,
  overdue: boolean,
): Promise<void> {
  const { stages, pivot, cancelAfterWrites } = scenario
  const stored = await storage.getSaga(id)
  const steps = await storage.listSteps(id)
  const children = await storage.listSagas({ definitionId: child.name })
  const grandchildren = await storage.listSagas({ definitionId: grandchild.name })
  // A legal end, with nothing left under way, the children included. Failed only where an undo can give up.
  const legal = ['Completed', 'Compensated', ...(cancelAfterWrites === null ? [] : ['Cancelled'])]
  if (mayGiveUp(scenario)) legal.push('Failed')
  if (overdue) legal.push('TimedOut')
  expect(legal).toContain(stored?.state)
  expect(stored).toMatchObject({ leaseOwner: null, leaseUntil: null, wakeAt: null })
  expect(steps.filter(({ state }) => ['Running', 'Compensating', 'Pending'].includes(state))).toEqual([])
  // No completed step ran again.
  expect(late).toEqual([])
  // One child for each attempt, and no other; completed with their parent, undone with it.
  const started = steps.filter(({ waitsFor }) => waitsFor?.startsWith('saga:'))
  expect(children.map((each) => each.id).sort()).toEqual(
    started.map(({ waitsFor }) => waitsFor?.slice('saga:'.length)).sort(),
  )
  expect(children.every(({ parentId }) => parentId === id)).toBe(true)
  // Each of them ends as its parent does, done or undone, however deep it is.
  const parents = new Map(children.map((each) => [each.id, each.state === 'Completed']))
  expect(grandchildren.map(({ parentId, state }) => [parentId, state === 'Completed'])).toEqual(
    grandchildren.map(({ parentId }) => [parentId, parents.get(parentId ?? '')]),
  )
  if (stored?.state === 'Completed') {
    expect(children.every(({ state }) => state === 'Completed')).toBe(true)
    expect(steps.filter(({ state }) => state !== 'Completed' && state !== 'Skipped')).toEqual([])
    const unwanted = stages.flatMap(({ when, kind }, place) =>
      when === false && kind !== 'parallel' ? [`s${place}`] : [],
    )
    expect(steps.filter(({ state }) => state === 'Skipped').map(({ name }) => name)).toEqual(unwanted)
  }
  if (stored && ['Compensated', 'Cancelled', 'TimedOut'].includes(stored.state)) {
    expect(children.filter(({ state }) => state === 'Completed')).toEqual([])
    // Everything that was done is undone, unless nothing undoes it.
    const left = steps.filter(
      ({ name, state, index }) => state === 'Completed' && calls.has(name) && index < steps.length,
    )
    expect(left).toEqual([])
  }
  // Past its pivot nothing is undone.
  if (stored?.pivotedAt) expect(stored.state).toBe('Completed')
  if (pivot === 0) expect(stored?.pivotedAt).toBeNull()
  // What stands in the rows is what was called, but for calls that a crash kept from being made.
  for (const { name, attempts } of steps) expect(calls.get(name) ?? 0).toBeLessThanOrEqual(attempts)
  // Nothing is said to be done, or undone, that was not done to its end.
  const told = new Map<string, number>()
  for (const [sagaId, { steps: plans }] of [
    [id, definition] as const,
    ...children.map((each) => [each.id, child] as const),
    ...grandchildren.map((each) => [each.id, grandchild] as const),
  ]) {
    for (const { type, stepIndex } of await storage.listEvents(sagaId)) {
      const plan = plans[stepIndex ?? -1]
      const isEnd = type === 'saga.step.completed' || type === 'compensation.step.completed'
      if (!isEnd || (plan?.kind !== 'step' && plan?.kind !== 'transaction')) continue
      const what = type === 'saga.step.completed' ? plan.name : `undo ${plan.name}`
      told.set(what, (told.get(what) ?? 0) + 1)
    }
  }
  expect([...told].filter(([what, times]) => times > (ends.get(what) ?? 0))).toEqual([])
  // Transactional steps exactly once.
  if (pool) {
    const { rows } = await pool.query<{ name: string }>(
      'SELECT name FROM public.done WHERE saga_id = $1 ORDER BY name',
      [id],
    )
    const done = steps.filter(
      ({ index, output }) => output !== undefined && isTransaction(stages, index, steps),
    )
    expect(rows.map(({ name }) => name)).toEqual(done.map(({ name }) => name).sort())
  }
  // One event for each step that delivers, however often it is begun.
  if (pool) {
    const { rows } = await pool.query('SELECT FROM sagapost.events WHERE correlation_id = $1', [id])
    const told = steps.filter(({ waitsFor }) => waitsFor?.startsWith('delivery:'))
    expect(rows).toHaveLength(told.length)
  }
  for (const each of [id, ...[...children, ...grandchildren].map((one) => one.id)])
    await expectHistoryToReplay(storage, each)
}

function isTransaction(
  stages: ConstructScenario['stages'],
  index: number,
  steps: readonly { name: string }[],
): boolean {
  const name = steps[index]?.name ?? ''
  return /^s\d$/.test(name) && stages[Number(name.slice(1))]?.kind === 'transaction'
}

describe.each(Object.keys(storages))('crashes at any point, on %s', (which) => {
  const under = (storages[which] as (typeof storages)[string])({
    tx: { query: async () => ({ rows: [], rowCount: 0 }) },
  })

  beforeAll(async () => {
    await under.moveMs(0)
    await under.pool?.query('CREATE TABLE public.done (saga_id text NOT NULL, name text NOT NULL)')
  })

  const plain = { failures: 0, fatal: false, undoFailures: 0, when: undefined, signal: 'late' } as const
  const every: ConstructScenario['stages'] = [
    ...(['sleep', 'signal', 'child', 'parallel'] as const).map((kind) => ({ ...plain, kind })),
    { ...plain, kind: 'step', when: false },
  ]

  it.each([
    ['forward', every, 0],
    ['forward and back', [...every, { ...plain, kind: 'step', fatal: true } as const], 0],
    ['past a pivot', [...every, { ...plain, kind: 'step', failures: 1 } as const], 2],
  ] as const)(
    '[G14] all constructs survive a crash around each of their writes: %s',
    async (_, stages, pivot) => {
      for (let afterWrites = 0; afterWrites <= (pivot === 0 ? 14 : 10); afterWrites++) {
        for (const committed of [false, true]) {
          const crashes = [{ afterWrites, committed }]
          await survive(under, {
            stages: [...stages],
            compensation: 'reverse',
            pivot,
            crashes,
            cancelAfterWrites: null,
          })
        }
      }
    },
    300_000,
  )

  const troubles: [string, number, (writes: number) => Trouble & { cancel?: number }][] = [
    ['a cancel', 0, (cancel) => ({ cancel })],
    ['a cancel before or after a pivot', 2, (cancel) => ({ cancel })],
    ['its deadline', 0, (deadline) => ({ deadline })],
    ['its deadline before or after a pivot', 2, (deadline) => ({ deadline })],
    ['a cancel of its child', 0, (cancelChildren) => ({ cancelChildren })],
    ['a cancel of itself and of its child', 0, (writes) => ({ cancel: writes, cancelChildren: writes })],
    ['a holder that is paused until all is over', 0, (at) => ({ pause: { at, resumeAfter: 1_000 } })],
    ['a holder that is paused and goes on beside another', 0, (at) => ({ pause: { at, resumeAfter: 1 } })],
  ]

  it.each(troubles)(
    '[G14] all constructs survive %s, at each of their writes',
    async (_, pivot, troubleAt) => {
      const stages = [...every, { ...plain, kind: 'step' } as const]
      for (let writes = 0; writes <= 12; writes++) {
        const { cancel: cancelAfterWrites = null, ...trouble } = troubleAt(writes)
        await survive(
          under,
          { stages, compensation: 'reverse', pivot, crashes: [], cancelAfterWrites },
          trouble,
        )
      }
    },
    300_000,
  )

  it('[G14, G6] random combinations survive random crashes', { timeout: 600_000 }, async () => {
    const seed = Number(process.env['SAGA_SEED'] ?? randomInt(2 ** 31))
    const numRuns = Number(process.env['SAGA_RUNS'] ?? (which === 'memory' ? 150 : 40))
    console.log(`construct generator on ${which}: SAGA_SEED=${seed} SAGA_RUNS=${numRuns}`)
    const deadlines = fc.option(fc.integer({ min: 0, max: 10 }), { freq: 4, nil: undefined })
    const property = fc.asyncProperty(constructScenarios, deadlines, (scenario, deadline) =>
      survive(under, scenario, deadline === undefined ? {} : { deadline }),
    )
    await fc.assert(property, { seed, numRuns, endOnFailure: true })
  })
})
