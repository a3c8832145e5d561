import type pg from 'pg'
import {
  checkInvariants,
  compareTerminals,
  snapshotTerminals,
  type Violation,
} from '../../src/doctor/index.js'
import { checkAgainstReceiver } from '../support/check-against-receiver.js'
import { countDeliveries } from '../support/count-deliveries.js'
import { bindOperation } from './bind-operation.js'
import { performCall, releaseHeld } from './perform-call.js'
import { Mismatch } from './plan.js'
import { runRound, wait } from './run-steps.js'
import type { World } from './world.js'

/** A delivery has at most three attempts, each after at most three lost leases. */
const ROUNDS_MAX = 40
/** Longer than any lease or retry. */
const LONG_MS = 2 * 86_400_000

/** All faults are over: everything must come to its end, and nothing be lost, repeated without need, or changed once final. */
export async function settleRun(world: World): Promise<void> {
  const readOnly = world.database.as('saga_readonly_role')
  await releaseHeld(world)
  const before = await snapshotTerminals(readOnly)
  await publishUnacknowledged(world)
  await letAllGo(world)
  for (let round = 0; !isSettled(world); round++) {
    if (round === ROUNDS_MAX) throw new Mismatch('it does not come to an end')
    await runRound(world, '200')
    // Stale reports and what was sent in vain come in as well; then the leases of the dead run out.
    world.holdings = []
    await wait(world, LONG_MS)
    const clean = bindOperation(world, { do: 'clean', most: 100 })
    if (clean) await performCall(world, clean, { kind: 'none' })
  }
  const violations = [
    ...compareTerminals(before, await snapshotTerminals(readOnly)),
    ...(await checkInvariants(readOnly, { settled: true, routes: steadyRoutes(world) })),
    ...(await checkAgainstReceiver(readOnly, { published: world.published, log: world.log })),
  ]
  refuse(violations)
  await checkNothingLost(world, readOnly)
}

/** As a publisher does that did not get its answer: under the same key, until it has one. */
async function publishUnacknowledged(world: World): Promise<void> {
  for (const [which, { acknowledged }] of world.publications.entries()) {
    if (acknowledged) continue
    const call = bindOperation(world, { do: 'republish', which, other: false, how: 'batch' })
    if (call) await performCall(world, call, { kind: 'none' })
  }
}

/** What is held goes on when its subscription is active again; what was deleted never is. */
async function letAllGo(world: World): Promise<void> {
  for (const [which, [, { active, deleted }]] of [...world.model.subscriptions].entries()) {
    if (active || deleted) continue
    const call = bindOperation(world, { do: 'verify', which })
    if (call) await performCall(world, call, { kind: 'none' })
  }
}

function isSettled({ model, holdings }: World): boolean {
  const isOpen = ({ status }: { status: string }) => status !== 'Completed' && status !== 'DeadLettered'
  const isQueued = model.unrouted.length > 0 || model.unapplied.length > 0
  return !isQueued && holdings.length === 0 && ![...model.deliveries.values()].some(isOpen)
}

function steadyRoutes({ model, look }: World): { eventType: string; subscriptionId: string }[] {
  return [...model.subscriptions]
    .filter(([, { type, active, verified }]) => active && verified && !model.unsteady.has(type))
    .map(([name, { type }]) => ({
      eventType: type,
      subscriptionId: look.subscriptionIds.get(name) as string,
    }))
}

function refuse(violations: readonly Violation[]): void {
  if (violations.length === 0) return
  const told = violations.map(({ invariant, detail }) => `${invariant}: ${detail}`)
  throw new Mismatch(`the invariants do not hold:\n${told.join('\n')}`)
}

/** Every delivery has reached its receiver, or is a dead letter; and accepted = completed + dead + open. */
async function checkNothingLost(world: World, readOnly: pg.Pool): Promise<void> {
  for (const [name, { event, subscription, status }] of world.model.deliveries) {
    const isDelivered = world.delivered.has(`${event}>${subscription}`)
    if (status === 'Completed' && !isDelivered)
      throw new Mismatch(`${name} is Completed, and was never delivered`)
    if (status === 'DeadLettered' && !world.model.letters.has(name)) throw new Mismatch(`${name} is lost`)
  }
  const { accepted, completed, deadLettered, open } = await countDeliveries(readOnly)
  if (accepted !== completed + deadLettered + open || open !== 0) {
    throw new Mismatch(`${accepted} accepted, ${completed} completed, ${deadLettered} dead, ${open} open`)
  }
}
