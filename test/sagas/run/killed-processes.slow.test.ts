import { type ChildProcess, fork } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sagaMachine } from '../../../src/model/index.js'
import { createPostgresStorage, type StateStorage } from '../../../src/sagas/index.js'
import { installClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { useCompiledProcess } from '../compile-process.js'
import { expectHistoryToReplay } from '../history.js'
import { APPLICATION_NAME, planFive, planSagas, type SagaPlan, sideTables } from '../random-definitions.js'
import type { ProcessOptions } from '../saga-process.js'

const database = useDatabase()
const SAGAS = 24
const WHEN = ['before', 'after', 'inside'] as const
/** The first process has more writes and statements than this: sagas are killed at all stages, not at their beginning. */
const POINTS = { before: 30, after: 30, inside: 80 } as const
const KILLS_MAX = 4
/** Long enough for a busy machine; when its process is dead, the clock is moved past it. */
const LEASE_MS = 600_000
/** SAGA_RUNS counts the runs of the generator in crash-recovery.slow.test.ts; one round here is 24 sagas and up to 4 kills. */
const ROUNDS = Math.max(1, Math.round(Number(process.env['SAGA_RUNS'] ?? 100) / 50))
const script = useCompiledProcess()
const children: ChildProcess[] = []
let storage: StateStorage

beforeAll(async () => {
  await installClock(database.pool)
  storage = createPostgresStorage({ pool: database.pool })
  await database.pool.query(sideTables)
})

const emptied = 'DELETE FROM sagapost.saga_instances; TRUNCATE public.calls, public.done'

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await database.pool.query(emptied)
})

interface Spawned {
  readonly child: ChildProcess
  readonly messages: unknown[]
  /** The exit code, or the signal's name. */
  readonly ended: Promise<unknown>
}

function spawn(options: Omit<ProcessOptions, 'databaseUrl' | 'leaseMs'>): Spawned {
  const given: ProcessOptions = { databaseUrl: database.url, leaseMs: LEASE_MS, ...options }
  const child = fork(script(), [JSON.stringify(given)], { execArgv: [] })
  children.push(child)
  const messages: unknown[] = []
  child.on('message', (message) => messages.push(message))
  return { child, messages, ended: once(child, 'exit').then(([code, signal]) => code ?? signal) }
}

const sessions = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${APPLICATION_NAME}'`

/** What the dead had sent to the database is done or rolled back, and their leases are over. */
async function outlive(): Promise<void> {
  await expect.poll(async () => (await database.pool.query(sessions)).rowCount).toBe(0)
  await moveClock(database.pool, `${LEASE_MS + 1} ms`)
}

/** What must hold of every saga, whenever and however often its process was killed. */
async function check(plans: readonly SagaPlan[]): Promise<void> {
  const { rows: sagas } = await database.pool.query(
    'SELECT id, definition_id FROM sagapost.saga_instances ORDER BY definition_id',
  )
  const names = sagas.map(({ definition_id }) => definition_id)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, keyed } of plans) if (keyed) expect(names).toContain(name)
  const { rows: calls } = await database.pool.query<Call>('SELECT * FROM public.calls ORDER BY place')
  // The intent stood there before each call, and until its work was done; no step that had been completed or undone
  // was called again.
  expect(calls.filter(({ what, step_state }) => step_state !== (/^r[ua]n$/.test(what) ? 1 : 4))).toEqual([])
  for (const { id, definition_id } of sagas) {
    const plan = plans.find(({ name }) => name === definition_id)
    if (plan === undefined) throw new Error(`nobody planned ${definition_id}`)
    await checkSaga(
      id,
      plan,
      calls.filter(({ saga_id }) => saga_id === id),
    )
  }
}

interface Call {
  readonly saga_id: string
  readonly step: number
  readonly what: 'run' | 'ran' | 'undo' | 'undone'
  readonly step_state: number
}

async function checkSaga(id: string, plan: SagaPlan, calls: readonly Call[]): Promise<void> {
  const saga = await storage.getSaga(id)
  const steps = await storage.listSteps(id)
  const stepsOf = (what: Call['what']) => calls.filter((call) => call.what === what).map(({ step }) => step)
  const timesOf = (what: Call['what'], index: number) => stepsOf(what).filter((step) => step === index).length

  // A legal end, with nothing left under way, and nothing left done that should have been undone.
  const fatal = plan.steps.some((step) => step.fatal)
  expect(['Completed', 'Compensated', 'Failed']).toContain(saga?.state)
  if (fatal) expect(saga?.state).not.toBe('Completed')
  expect(saga).toMatchObject({ leaseOwner: null, leaseUntil: null, wakeAt: null })
  const left = saga?.state === 'Completed' ? ['Completed'] : ['Completed', 'Compensated', 'Failed', 'Skipped']
  expect(steps.filter(({ state }) => !left.includes(state))).toEqual([])
  if (saga?.state === 'Compensated')
    expect(
      steps.filter(({ index, state }) => plan.steps[index]?.compensate && state === 'Completed'),
    ).toEqual([])

  // In order: no step is called once a later one has been, and undos go the other way.
  expect(stepsOf('run')).toEqual(stepsOf('run').toSorted((a, b) => a - b))
  if (plan.compensation !== 'parallel')
    expect(stepsOf('undo')).toEqual(stepsOf('undo').toSorted((a, b) => b - a))

  for (const { index, state, attempts, compensation } of steps) {
    // Each call is on record before it is made, and what is said to be done was done to its end.
    expect(timesOf('run', index)).toBeLessThanOrEqual(attempts)
    expect(timesOf('undo', index)).toBeLessThanOrEqual(compensation?.attempts ?? 0)
    if (state === 'Completed') expect(timesOf('ran', index)).toBeGreaterThan(0)
    if (state === 'Compensated') expect(timesOf('undone', index)).toBeGreaterThan(0)
  }

  // Transactional steps exactly once.
  const { rows: done } = await database.pool.query(
    'SELECT step, count(*)::int AS times FROM public.done WHERE saga_id = $1 GROUP BY step ORDER BY step',
    [id],
  )
  const transacted = steps.filter(
    ({ index, output }) => plan.steps[index]?.transaction && output !== undefined,
  )
  expect(done).toEqual(transacted.map(({ index }) => ({ step: index, times: 1 })))
  await expectHistoryToReplay(storage, id)
}

it(`[G14, G6, G13] random sagas survive SIGKILL at random points between writes`, {
  timeout: 600_000,
}, async () => {
  const seed = Number(process.env['SAGA_SEED'] ?? randomInt(2 ** 31))
  console.log(`killed processes: SAGA_SEED=${seed}, ${ROUNDS} rounds`)
  const pick = (what: string, below: number) =>
    createHash('sha256').update(`${seed}:${what}`).digest().readUInt32BE() % below
  for (let round = 0; round < ROUNDS; round++) {
    const plans = planSagas(seed + round, SAGAS)
    let killed = 0
    for (let life = 0; ; life++) {
      const when = WHEN[pick(`${round}:${life}:when`, WHEN.length)] ?? 'before'
      const most = POINTS[when] / (life === 0 ? 1 : 2)
      const stop = { signal: 'SIGKILL', at: 1 + pick(`${round}:${life}:at`, most), when } as const
      const process = spawn({ plans, first: life === 0, ...(life < KILLS_MAX ? { stop } : {}) })
      const end = await process.ended
      expect(process.messages).toEqual([])
      if (end === 0) break
      expect(end).toBe('SIGKILL')
      killed++
      await outlive()
    }
    expect(killed).toBeGreaterThan(0)
    await check(plans)
    await database.pool.query(emptied)
  }
})

/** Processes at once. */
const ABREAST = 3

// All but the last write of the one that is completed is the same as of the other: it begins there.
it.each([
  ['forward', false, 'Completed', 6, ['before', 'after']],
  ['forward and back', true, 'Compensated', 1, ['before', 'after', 'inside']],
] as const)(
  '[G14, G6] a saga of five steps, %s, survives SIGKILL at every point between its writes',
  {
    timeout: 600_000,
  },
  async (_, fatal, end, from, points) => {
    const plans: SagaPlan[] = []
    for (const when of points) {
      // Each has a process and a saga to itself, until one is not killed: it has fewer writes than that.
      for (let at: number = from, over = false; !over; at += ABREAST) {
        const ends = await Promise.all(
          Array.from({ length: ABREAST }, async (_, place) => {
            const plan = planFive(`five-${when}-${at + place}`, fatal)
            const stop = { signal: 'SIGKILL', at: at + place, when } as const
            plans.push(plan)
            const process = spawn({ plans: [plan], first: true, stop })
            const end = await process.ended
            expect(process.messages).toEqual([])
            return end
          }),
        )
        expect(ends.filter((end) => end !== 0 && end !== 'SIGKILL')).toEqual([])
        over = ends.includes(0)
      }
    }
    await outlive()
    const heir = spawn({ plans, first: false })
    expect([await heir.ended, heir.messages]).toEqual([0, []])
    await check(plans)
    const { rows } = await database.pool.query('SELECT DISTINCT state FROM sagapost.saga_instances')
    expect(rows).toEqual([{ state: sagaMachine.statuses.indexOf(end) }])
  },
)

describe('a coordinator whose process is suspended past its lease and continued', () => {
  /** Sagas of one kind of step each. */
  const planOf = (transaction: boolean): SagaPlan => {
    const five = planFive('stopped', false)
    return { ...five, steps: five.steps.map((step) => ({ ...step, transaction })) }
  }

  it.each([
    ['before a checkpoint', false, 'before'],
    ["between a transaction step's work and its commit", true, 'inside'],
  ] as const)('[G14] %s: its late write is refused', async (_, transaction, when) => {
    const plans = [planOf(transaction)]
    // Its first write is the start with the first intent; the second is the first step's end. In a transaction that comes
    // third, after BEGIN and the step's own statement.
    const stop = { signal: 'SIGSTOP', at: transaction ? 3 : 2, when } as const
    const late = spawn({ plans, first: true, stop })
    await expect.poll(() => late.messages).toEqual(['stopping'])
    await moveClock(database.pool, `${LEASE_MS + 1} ms`)
    const other = spawn({ plans, first: false })
    expect(await other.ended).toBe(0)
    const { rows } = await database.pool.query('SELECT id, version FROM sagapost.saga_instances')
    const [{ id, version }] = rows
    const history = await storage.listEvents(id)
    late.child.kill('SIGCONT')
    const answers = () => late.messages.filter((message) => Object.hasOwn(Object(message), 'answer'))
    await expect.poll(() => answers().length).toBe(1)
    expect(answers()[0]).toEqual({ answer: transaction ? { outcome: 'refused' } : [{ applied: false }] })
    expect(await late.ended).toBe(0)
    expect(await storage.getSaga(id)).toMatchObject({ state: 'Completed', version: Number(version) })
    expect(await storage.listEvents(id)).toEqual(history)
    const steps = await storage.listSteps(id)
    const { rows: done } = await database.pool.query('SELECT step FROM public.done ORDER BY step')
    expect(done.map(({ step }) => step)).toEqual(transaction ? steps.map(({ index }) => index) : [])
    await expectHistoryToReplay(storage, id)
  })
})
