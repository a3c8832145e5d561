import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createPostgresStorage, type StateStorage } from '../../src/sagas/index.js'
import { useDatabase } from '../support/database.js'
import { expectHistoryToReplay } from './history.js'
import { planSagas, sideTables } from './random-definitions.js'
import type { ProcessOptions } from './saga-process.js'

const database = useDatabase()
const SAGAS = 24
const KILLS_MAX = 4
const LEASE_MS = 1_500
/** SAGA_RUNS counts the runs of the generator in crash-recovery.test.ts; one round here is 24 sagas and up to 4 kills. */
const ROUNDS = Math.max(1, Math.round(Number(process.env['SAGA_RUNS'] ?? 100) / 50))
const root = fileURLToPath(new URL('../..', import.meta.url))
const script = fileURLToPath(new URL('saga-process.ts', import.meta.url))
const children: ChildProcess[] = []
let storage: StateStorage

beforeAll(async () => {
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
  const child = fork(script, [JSON.stringify(given)], { cwd: root, execArgv: ['--import', 'tsx'] })
  children.push(child)
  const messages: unknown[] = []
  child.on('message', (message) => messages.push(message))
  return { child, messages, ended: once(child, 'exit').then(([code, signal]) => code ?? signal) }
}

/** What must hold of every saga, whenever and however often its process was killed. */
async function check(seed: number): Promise<number> {
  const plans = new Map(planSagas(seed, SAGAS).map((plan) => [plan.name, plan]))
  const { rows: sagas } = await database.pool.query(
    'SELECT id, definition_id, idempotency_key FROM sagapost.saga_instances',
  )
  const names = sagas.map(({ definition_id }) => definition_id)
  expect(new Set(names).size).toBe(names.length)
  for (const [number, name] of [...plans.keys()].entries())
    if (number % 2 === 0) expect(names).toContain(name)
  const { rows: calls } = await database.pool.query('SELECT * FROM public.calls')
  // The intent stood there before each call, and no step that had been completed or undone was called again.
  expect(calls.filter(({ what, step_state }) => step_state !== (what === 'run' ? 1 : 4))).toEqual([])
  for (const { id, definition_id } of sagas) {
    const plan = plans.get(definition_id)
    const saga = await storage.getSaga(id)
    const steps = await storage.listSteps(id)
    const fatal = plan?.steps.some((step) => step.fatal)
    expect(['Completed', 'Compensated', 'Failed']).toContain(saga?.state)
    if (fatal) expect(saga?.state).not.toBe('Completed')
    expect(saga).toMatchObject({ leaseOwner: null, leaseUntil: null, wakeAt: null })
    expect(steps.filter(({ state }) => state === 'Running' || state === 'Compensating')).toEqual([])
    const own = calls.filter(({ saga_id }) => saga_id === id)
    for (const { index, state, attempts } of steps) {
      const runs = own.filter(({ step, what }) => step === index && what === 'run').length
      expect(runs).toBeLessThanOrEqual(attempts)
      if (state === 'Completed' || state === 'Compensated') expect(runs).toBeGreaterThan(0)
    }
    const { rows: done } = await database.pool.query(
      'SELECT step, count(*)::int AS times FROM public.done WHERE saga_id = $1 GROUP BY step ORDER BY step',
      [id],
    )
    const transacted = steps.filter(
      ({ index, output }) => plan?.steps[index]?.transaction && output !== undefined,
    )
    expect(done).toEqual(transacted.map(({ index }) => ({ step: index, times: 1 })))
    await expectHistoryToReplay(storage, id)
  }
  return sagas.length
}

it(`[G14, G6, G13] random sagas survive SIGKILL at random points between writes`, {
  timeout: 600_000,
}, async () => {
  const seed = Number(process.env['SAGA_SEED'] ?? randomInt(2 ** 31))
  console.log(`killed processes: SAGA_SEED=${seed}, ${ROUNDS} rounds`)
  for (let round = 0; round < ROUNDS; round++) {
    let killed = 0
    for (let life = 0; ; life++) {
      const point = (seed >>> (life * 3)) + round * 7 + life
      const stop = {
        signal: 'SIGKILL',
        at: 1 + (point % (life === 0 ? 12 : 6)),
        when: (['before', 'after', 'inside'] as const)[point % 3] ?? 'before',
      } as const
      const process = spawn({
        seed: seed + round,
        count: SAGAS,
        first: life === 0,
        ...(life < KILLS_MAX ? { stop } : {}),
      })
      const end = await process.ended
      expect(process.messages).toEqual([])
      if (end === 0) break
      expect(end).toBe('SIGKILL')
      killed++
    }
    expect(killed).toBeGreaterThan(0)
    expect(await check(seed + round)).toBeGreaterThanOrEqual(SAGAS / 2)
    await database.pool.query(emptied)
  }
})

describe('a coordinator whose process is stopped past its lease and continued', () => {
  /** Sagas of one kind of step each. */
  const seedOf = (transaction: boolean) => {
    for (let seed = 1; ; seed++) {
      const [plan] = planSagas(seed, 1)
      const steps = plan?.steps ?? []
      if (
        steps.length > 1 &&
        steps.every((step) => step.transaction === transaction && !step.fatal && !step.failures)
      )
        return seed
    }
  }

  it.each([
    ['before a checkpoint', false, 'before'],
    ["between a transaction step's work and its commit", true, 'inside'],
  ] as const)('[G14] %s: its late write is refused', async (_, transaction, when) => {
    const seed = seedOf(transaction)
    // Its first write is the start with the first intent; the second is the first step's end.
    const stop = { signal: 'SIGSTOP', at: 2, when } as const
    const late = spawn({ seed, count: 1, first: true, stop })
    await expect.poll(() => late.messages, { timeout: 60_000 }).toEqual(['stopping'])
    const other = spawn({ seed, count: 1, first: false })
    expect(await other.ended).toBe(0)
    const { rows } = await database.pool.query('SELECT id, version FROM sagapost.saga_instances')
    const [{ id, version }] = rows
    const history = await storage.listEvents(id)
    late.child.kill('SIGCONT')
    // It may also say that it could not renew its leases in time.
    const answers = () => late.messages.filter((message) => Object.hasOwn(Object(message), 'answer'))
    await expect.poll(() => answers().length, { timeout: 60_000 }).toBe(1)
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
