import type { Fault } from './faulty-pool.js'
import type { Model } from './model.js'
import { checkAnswer, compare, start } from './perform-call.js'
import { type Facts, Mismatch, type Plan } from './plan.js'
import { readState } from './read-state.js'
import { checkTakenTogether } from './take-rows.js'
import type { Call, Ending, World } from './world.js'

const noFault: Fault = { kind: 'none' }

/** Two of these share out what there is, in whichever way; only what they do together is ruled. */
const sharing = new Set([
  'route',
  'apply',
  'make',
  'clean',
  'switch off the gone',
  'stop jobs',
  'end stopped',
])

/**
 * Both calls at once. What they leave must be what their transactions leave one after the other, in one order or another,
 * and each must have answered accordingly.
 */
export async function performBoth(world: World, calls: readonly [Call, Call]): Promise<void> {
  const running = calls.map((call) => start(world, call, noFault).running)
  // Should one of them fail as none may, the other is still waited for.
  await Promise.allSettled(running)
  const endings = await Promise.all(running)
  world.look = await readState(world.database.pool, world.origin)
  const isShared = calls[0].operation.do === calls[1].operation.do && sharing.has(calls[0].operation.do)
  if (isShared) checkTaken(world, calls)
  const mismatches: string[] = []
  for (const order of interleave(calls[0].plans().length, calls[1].plans().length)) {
    try {
      world.model = follow(world, calls, order, { endings: endings as [Ending, Ending], isShared })
      for (const [at, call] of calls.entries()) call.learn?.(endings[at] as Ending, world.look)
      return
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      mismatches.push(error.message)
    }
  }
  throw new Mismatch(
    `no order of the two explains what is there: ${[...new Set(mismatches)].join('\nnor: ')}`,
  )
}

/** The state that this order leads to; throws when it is not the one that is there. */
function follow(
  { model, look }: World,
  calls: readonly [Call, Call],
  order: readonly (0 | 1)[],
  { endings, isShared }: { endings: readonly [Ending, Ending]; isShared: boolean },
): Model {
  const then = structuredClone(model)
  const plans: [Plan[], Plan[]] = [calls[0].plans(), calls[1].plans()]
  const facts: [Facts, Facts] = [{}, {}]
  for (const which of order) {
    const plan = plans[which].shift() as Plan
    Object.assign(facts[which], plan(then, look).commit(then, look))
  }
  const observed = [calls[0].observe(endings[0], look), calls[1].observe(endings[1], look)] as const
  if (isShared) checkAnswer(calls[0], together(facts), together(observed))
  else for (const which of [0, 1] as const) checkAnswer(calls[which], facts[which], observed[which])
  compare(then, look)
  return then
}

/** How many the two have done between them, or which; whether there is more depends on who came first. */
function together([a, b]: readonly [Facts, Facts]): Facts {
  return Object.fromEntries(
    Object.entries(a).map(([name, value]) => {
      const other = b[name]
      if (typeof value === 'boolean') return [name, null]
      if (typeof value === 'number') return [name, value + (other as number)]
      return [name, [...(value as string[]), ...(other as string[])].sort()]
    }),
  )
}

function checkTaken(
  { model, look }: World,
  [{ operation: a }, { operation: b }]: readonly [Call, Call],
): void {
  if (a.do === 'route' && b.do === 'route') checkTakenTogether(model, look, 'unrouted', [a.most, b.most])
  if (a.do === 'apply' && b.do === 'apply') checkTakenTogether(model, look, 'unapplied', [a.most, b.most])
}

/** All orders of so many of the one and so many of the other. */
function interleave(zeros: number, ones: number): (0 | 1)[][] {
  if (zeros === 0 && ones === 0) return [[]]
  return [
    ...(zeros > 0 ? interleave(zeros - 1, ones).map((rest): (0 | 1)[] => [0, ...rest]) : []),
    ...(ones > 0 ? interleave(zeros, ones - 1).map((rest): (0 | 1)[] => [1, ...rest]) : []),
  ]
}
