import { isDeepStrictEqual } from 'node:util'
import { toRequest } from '../../src/delivery/worker/translate-job.js'
import type { WebhookOutcome } from '../../src/webhook/index.js'
import { moveClock } from '../support/clock.js'
import { killWorker } from './bind-job-operation.js'
import { bindOperation } from './bind-operation.js'
import { create, verify } from './bind-subscription-operation.js'
import { type Fault, faultyPool } from './faulty-pool.js'
import { meddle } from './meddle.js'
import { performBoth } from './perform-both.js'
import { compare, performCall, releaseHeld } from './perform-call.js'
import { get, Mismatch } from './plan.js'
import { queueAgain } from './queue-again.js'
import { readState } from './read-state.js'
import { type Answer, type Operation, type Step, type Subscribe, waits } from './steps.js'
import { touch } from './subscription-rules.js'
import { largeRow } from './take-rows.js'
import { nameOfType, pick, type World } from './world.js'

const noFault: Fault = { kind: 'none' }

/** Each run begins with a subscription of one attempt, one of two and one of three. */
export async function begin(world: World): Promise<void> {
  for (const [index, limit] of [2, null, 1].entries()) {
    await addSubscription(world, { type: nameOfType(world, index), limit, verified: true }, noFault)
  }
}

export async function runStep(world: World, step: Step): Promise<void> {
  if ('call' in step) return runOperation(world, step.call, step.fault)
  if ('both' in step) return runBoth(world, step.both)
  if ('subscribe' in step) return subscribe(world, step)
  if ('release' in step) return releaseHeld(world)
  if ('respond' in step) return respond(world, step.respond, step.answer)
  if ('wait' in step) return wait(world, waits[step.wait])
  if ('offer' in step) return offer(world, step.offer)
  if ('pile' in step) return pileUp(world, step.pile, step.most, step.fault)
  if ('takeOver' in step) return takeOver(world, step.takeOver)
  if ('meddle' in step) return meddle(world, step.meddle)
  if ('queueAgain' in step) return queueAgain(world, step.queueAgain)
  if ('round' in step) return runRound(world, step.round, step.fault)
  killWorker(world, step.kill)
}

export async function wait(world: World, ms: number): Promise<void> {
  await moveClock(world.database.pool, `${ms} milliseconds`)
  world.model.nowMs += ms
}

async function look(world: World): Promise<void> {
  world.look = await readState(world.database.pool, world.origin)
  compare(world.model, world.look)
}

async function runOperation(world: World, operation: Operation, fault: Fault): Promise<void> {
  const call = bindOperation(world, fault.kind === 'hold' ? withoutChoice(operation) : operation)
  if (!call) return
  // What was queued again would wait for the one that holds it from the first time, with rows that it took before.
  if (takesFromQueue(operation) && call.waits?.(world.model)) await releaseHeld(world)
  await performCall(world, call, fault)
}

const takesFromQueue = ({ do: verb }: Operation) => verb === 'route' || verb === 'spread' || verb === 'apply'

/** Which of several rows it holds cannot be seen before it commits; only from queues they are taken in a known order. */
const withoutChoice = (operation: Operation): Operation =>
  'most' in operation && !takesFromQueue(operation) ? { ...operation, most: 100 } : operation

async function runBoth(world: World, operations: readonly [Operation, Operation]): Promise<void> {
  // A verification is several calls with another's answer in between: beside another one, it may rightly come to nothing.
  if (operations.some(({ do: verb }) => verb === 'verify')) return
  // They pass over what the other is about to take: what each of them gets is ruled by no order of the two.
  if (passOver(operations, 'claim', 'stop jobs') || passOver(operations, 'make', 'end stopped')) return
  if (operations.every((each) => each.do === 'stop jobs') && !isDeepStrictEqual(...wishes(operations))) return
  // Which of two pieces of a row is whose, or whether one comes to nothing because the other has the row, is not ruled.
  if (operations.every(({ do: verb }) => verb === 'spread')) return
  const [first, second] = operations.map(withRoom) as [Operation, Operation]
  const a = bindOperation(world, first, second)
  const b = bindOperation(world, second, first)
  if (!a || !b) return
  if (a.waits?.(world.model) || b.waits?.(world.model)) await releaseHeld(world)
  await performBoth(world, [a, b])
}

/** What goes to the back while another takes rows is seen by neither of them. */
const withRoom = (operation: Operation): Operation =>
  operation.do === 'route' ? { ...operation, room: 100 } : operation

const passOver = (operations: readonly Operation[], one: Operation['do'], other: Operation['do']) =>
  [one, other].every((verb) => operations.some(({ do: made }) => made === verb))

/** What they do, in whichever process. */
const wishes = ([a, b]: readonly [Operation, Operation]) =>
  [
    { ...a, worker: 0 },
    { ...b, worker: 0 },
  ] as const

async function offer(world: World, events: number): Promise<void> {
  for (let type = 0; type < events; type++) {
    await runOperation(
      world,
      { do: 'publish', type: type % 2, keyed: type === 0, how: 'batch', others: 0 },
      noFault,
    )
  }
  await runOperation(world, { do: 'route', router: 1, most: 100 }, noFault)
  await runOperation(world, { do: 'make', most: 100 }, noFault)
}

async function pileUp(world: World, answer: Answer, most: number, fault: Fault): Promise<void> {
  for (const others of [0, 2, 1]) {
    await runOperation(world, { do: 'publish', type: 0, keyed: false, how: 'batch', others }, noFault)
  }
  await runOperation(world, { do: 'route', router: 0, most }, noFault)
  await runOperation(world, { do: 'route', router: 1, most: 100 }, noFault)
  await runOperation(world, { do: 'make', most: 100 }, noFault)
  await runOperation(world, { do: 'claim', worker: 0, most: 100 }, noFault)
  await respondToAll(world, answer)
  for (const how of ['one', 'one', 'all'] as const) {
    await runOperation(world, { do: 'report', which: 0, how }, noFault)
  }
  await runOperation(world, { do: 'apply', most }, fault)
}

async function takeOver(world: World, worker: number): Promise<void> {
  await wait(world, waits['1 minute'])
  await runOperation(world, { do: 'clean', most: 100 }, noFault)
  await runOperation(world, { do: 'claim', worker, most: 100 }, noFault)
}

/** One round of every part, as the loops make it; then the workers report what the receivers answered. */
export async function runRound(world: World, answer: Answer, fault: Fault = noFault): Promise<void> {
  const most = 100
  await runOperation(world, { do: 'route', router: 0, most }, noFault)
  while (largeRow(world.model)) await runOperation(world, { do: 'spread', router: 0, room: 2 }, noFault)
  await runOperation(world, { do: 'apply', most }, noFault)
  await runOperation(world, { do: 'make', most }, noFault)
  await runOperation(world, { do: 'end stopped' }, noFault)
  for (const which of ['free', 'held', 'cancelled'] as const) {
    await runOperation(world, { do: 'stop jobs', worker: 0, which }, noFault)
  }
  await runOperation(world, { do: 'claim', worker: 0, most }, noFault)
  while (world.holdings.some(({ job }) => job.stop !== null)) {
    await runOperation(world, { do: 'put aside', which: 0 }, noFault)
  }
  await respondToAll(world, answer)
  await runOperation(world, { do: 'report', which: 0, how: 'all' }, noFault)
  await runOperation(world, { do: 'apply', most }, fault)
}

async function respondToAll(world: World, answer: Answer): Promise<void> {
  while (world.holdings.some(isUnsent)) await respond(world, 0, answer)
}

const isUnsent = ({ job, outcome }: World['holdings'][number]) => outcome === null && job.stop === null

/** The worker sends what it holds, unless it was told not to, whether it still has the lease or not: it cannot know. */
async function respond(world: World, which: number, answer: Answer): Promise<void> {
  const unsent = world.holdings.filter(isUnsent)
  const holding = pick(unsent, which)
  if (!holding) return
  const { job, name } = holding
  const { delivery } = get(world.model.jobs, name)
  const { event, subscription } = get(world.model.deliveries, delivery)
  const { body, webhookId, headers } = toRequest(job, job.payload ?? '', [])
  if (body.toString() !== get(world.model.events, event).payload)
    throw new Mismatch(`${name} has another payload`)
  world.log.record(job.subscriptionId, {
    headers: { ...headers, 'webhook-id': webhookId },
    body: Buffer.from(body),
  })
  holding.outcome = outcomeOf(answer)
  if (answer === '200') world.delivered.add(`${event}>${subscription}`)
}

function outcomeOf(answer: Answer): WebhookOutcome {
  const durationMs = 5
  if (answer === '200') return { delivered: true, responseStatus: 200, durationMs, responseExcerpt: 'ok' }
  if (answer === 'hangs') return { delivered: false, errorCode: 'timeout', durationMs }
  const responseStatus = Number(answer.slice(0, 3))
  const retryAfterS = { '503 in 10 minutes': 600, '503 in 3 days': 259_200 }[answer as string]
  const failed = {
    delivered: false as const,
    errorCode: `http_${responseStatus}` as const,
    responseStatus,
    durationMs,
  }
  return { ...failed, ...(retryAfterS !== undefined && { retryAfterS }) }
}

async function subscribe(world: World, step: Subscribe): Promise<void> {
  if (world.model.locked.has('version')) await releaseHeld(world)
  const { limit, verified, fault } = step
  const type = nameOfType(world, step.subscribe)
  await addSubscription(world, { type, limit, verified }, fault.kind === 'hold' ? noFault : fault)
}

/** A caller without an answer repeats the request under the same key until it has one [O8]. */
async function addSubscription(
  world: World,
  { type, limit, verified }: { type: string; limit: number | null; verified: boolean },
  fault: Fault,
): Promise<void> {
  const { model, database } = world
  const name = `s${model.subscriptions.size}`
  const wanted = { type, url: `https://receiver.example/${name}`, limit }
  const admin = database.as('subscription_admin')
  const part = faultyPool(admin, database.pool, fault)
  const created = await create(part.pool, wanted).catch((error: unknown) => {
    if (!part.struck) throw error
    return create(admin, wanted)
  })
  const { id } = created.subscription
  if (verified) await verify(admin, id)
  const changedAtMs = model.nowMs
  model.subscriptions.set(name, { ...wanted, verified, active: verified, deleted: false, changedAtMs })
  touch(model, name, changedAtMs)
  world.log.watch(id, () => true)
  await look(world)
}
