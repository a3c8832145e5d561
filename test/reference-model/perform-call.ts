import { isDeepStrictEqual } from 'node:util'
import { SagapostError } from '../../src/errors/index.js'
import { ConnectionLost, type Fault, type FaultyPool, faultyPool } from './faulty-pool.js'
import { type Model, modelLines } from './model.js'
import { type Facts, Mismatch, type Plan } from './plan.js'
import { type Look, readState } from './read-state.js'
import type { Call, Ending, World } from './world.js'

/** Makes the call under the fault, and takes the model to where the rules say that it leads. */
export async function performCall(world: World, call: Call, wanted: Fault): Promise<void> {
  const mayHold = call.canHold && world.held === null
  const fault: Fault = wanted.kind === 'hold' && !mayHold ? { kind: 'none' } : wanted
  if (world.held && call.waits?.(world.model)) return performBehindHeld(world, call)
  // Of two transactions, `locked` is the first one's, `commit` the second one's.
  const holdUnit = call.operation.do === 'make' && fault.kind === 'hold' && fault.at === 'commit' ? 2 : 1
  const { part, running } = start(world, call, fault, holdUnit)
  if (fault.kind === 'hold') {
    const before = await Promise.race([part.paused, running.then(() => null)])
    if (before !== null) {
      return hold(world, { call, part, running, fault, before }).catch(async (error: unknown) => {
        // Nobody may be left standing: its connection would never end.
        part.resume()
        await running.catch(() => {})
        throw error
      })
    }
  }
  const ending = await running
  world.look = await readState(world.database.pool, world.origin)
  const made = part.struck ? plansUpTo(call, part.commits) : call.plans()
  const facts = carryOut(world.model, world.look, made)
  if (part.struck && 'value' in ending)
    throw new Mismatch(`${call.operation.do} was answered, and had not committed`)
  if (part.struck && wanted.kind === 'crash') call.forget?.()
  if (!part.struck) conclude(world, call, facts, ending)
  compare(world.model, world.look)
}

const plansUpTo = (call: Call, commits: number): Plan[] =>
  call.plansUpTo?.(commits) ?? call.plans().slice(0, commits)

export function start(world: World, call: Call, fault: Fault, holdUnit = 1) {
  const { database } = world
  const part = faultyPool(database.as(call.role), database.pool, fault, holdUnit)
  return { part, running: settle(call.run(part.pool)) }
}

async function settle(work: Promise<unknown>): Promise<Ending> {
  try {
    return { value: await work }
  } catch (error) {
    if (error instanceof ConnectionLost) return { lost: true }
    if (error instanceof SagapostError) return { refused: error.code }
    throw error
  }
}

/** All transactions, one after the other, and what they answer together. */
function carryOut(model: Model, look: Look, plans: readonly Plan[]): Facts {
  return Object.assign({}, ...plans.map((plan) => plan(model, look).commit(model, look)))
}

function conclude(world: World, call: Call, facts: Facts, ending: Ending): void {
  checkAnswer(call, facts, call.observe(ending, world.look))
  call.learn?.(ending, world.look)
}

export function checkAnswer(call: Call, expected: Facts, observed: Facts): void {
  if (isDeepStrictEqual(expected, observed)) return
  const told = `${JSON.stringify(observed)} instead of ${JSON.stringify(expected)}`
  throw new Mismatch(`${call.operation.do} answered ${told}`)
}

/** Throws the lines that differ. */
export function compare(model: Model, look: Look): void {
  const expected = modelLines(model)
  if (isDeepStrictEqual(expected, look.lines)) return
  const missing = without(expected, look.lines).map((line) => `  - ${line}`)
  const unexpected = without(look.lines, expected).map((line) => `  + ${line}`)
  throw new Mismatch(['the rules (-) and the database (+) differ:', ...missing, ...unexpected].join('\n'))
}

/** With repeated lines counted: a row that is there twice is one too many. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

interface Pause {
  call: Call
  part: FaultyPool
  running: Promise<Ending>
  fault: Fault & { kind: 'hold' }
  before: string
}

/** Its uncommitted work is invisible; its locked rows are passed over, or waited for. */
async function hold(world: World, { call, part, running, fault, before }: Pause): Promise<void> {
  world.look = await readState(world.database.pool, world.origin)
  const plans = call.plans({ at: fault.at, before })
  const facts = carryOut(world.model, world.look, plans.slice(0, part.commits))
  const [current, ...rest] = plans.slice(part.commits) as [Plan, ...Plan[]]
  const planned = current(world.model, world.look)
  for (const row of planned.locks) world.model.locked.add(row)
  world.held = { call, part, running, end: fault.end, planned, facts, rest }
  compare(world.model, world.look)
}

/** Lets the paused operation run to its end. */
export async function releaseHeld(world: World): Promise<void> {
  if (world.held === null) return
  world.held.part.resume()
  await endHeld(world, await world.held.running)
  compare(world.model, world.look)
}

async function endHeld(world: World, ending: Ending): Promise<void> {
  if (world.held === null) return
  const { call, end, planned, facts, rest } = world.held
  world.held = null
  world.model.locked.clear()
  world.look = await readState(world.database.pool, world.origin)
  if (end === 'crash') return call.forget?.()
  const last = planned.commit(world.model, world.look)
  conclude(world, call, { ...facts, ...last, ...carryOut(world.model, world.look, rest) }, ending)
}

/** The call needs what is held: it must wait until the other has committed, or is dead. */
async function performBehindHeld(world: World, call: Call): Promise<void> {
  const { held } = world
  if (held === null) throw new Error('nothing is held')
  const { part, running } = start(world, call, { kind: 'none' })
  let ended = false
  const noteEnd = () => {
    ended = true
  }
  running.then(noteEnd, noteEnd)
  while (!ended && !(await isWaiting(world, part.processId))) {
    // Asked again at once: it is on its way to the lock, or to its end.
  }
  held.part.resume()
  const heldEnding = await held.running
  const ending = await running
  await endHeld(world, heldEnding)
  conclude(world, call, carryOut(world.model, world.look, call.plans()), ending)
  compare(world.model, world.look)
}

async function isWaiting(world: World, processId: number | undefined): Promise<boolean> {
  const { rows } = await world.database.pool.query<{ waits: boolean }>(
    `SELECT wait_event_type = 'Lock' AS waits FROM pg_stat_activity WHERE pid = $1`,
    [processId ?? 0],
  )
  return rows[0]?.waits === true
}
