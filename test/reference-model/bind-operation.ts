import { inTransaction } from '../../src/database/index.js'
import type { Requeued } from '../../src/delivery/dead-letters/requeue-dead-letter.js'
import {
  expireEventKeys,
  publish,
  requeueDeadLetter,
  type StoreOutcome,
  storeEvents,
} from '../../src/delivery/index.js'
import { applyResults } from '../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../../src/delivery/router/route-events.js'
import { spreadEvents } from '../../src/delivery/router/spread-events.js'
import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import { sha256 } from '../support/receiver-log.js'
import { wholeWindow } from '../support/whole-window.js'
import { bindJobOperation } from './bind-job-operation.js'
import { bindStopOperation } from './bind-stop-operation.js'
import { bindSubscriptionOperation } from './bind-subscription-operation.js'
import { deliveryName, type Model, type QueueRow } from './model.js'
import { get } from './plan.js'
import { planRoute, planSpread } from './route-rules.js'
import { planApply, planFirstJobs, planRequeue, planRetries, settings } from './rules.js'
import type { Operation } from './steps.js'
import { type Publication, planForgetKeys, planPublish } from './subscription-rules.js'
import { largeRow, limitsBeside, takeRows } from './take-rows.js'
import { type Call, type Ending, nameOfType, observeValue, pick, type World } from './world.js'

const KEYS_WINDOW_MS = 86_400_000
/** More deliveries than there are in any run. */
const ALL = 10_000

/** The operation on what there is for it now; null when there is nothing. `beside`: another one at the same moment. */
export function bindOperation(world: World, operation: Operation, beside?: Operation): Call | null {
  const { range } = world
  switch (operation.do) {
    case 'publish':
    case 'republish':
      return bindPublish(world, operation)
    case 'forget keys':
      return {
        operation,
        role: 'schema_maintainer',
        run: (pool) => expireEventKeys(pool, KEYS_WINDOW_MS),
        plans: () => [planForgetKeys(KEYS_WINDOW_MS)],
        observe: () => ({}),
        canHold: false,
      }
    case 'route': {
      const { router, most, room = ALL } = operation
      const limits = () =>
        limitsBeside(world.model, 'unrouted', most, beside?.do === 'route' ? beside.most : undefined)
      return {
        operation,
        role: 'router_worker',
        run: (pool) =>
          routeEvents(pool, world.routers[router] as ReturnType<typeof createSubscriptionCache>, most, {
            deliveriesMax: room,
          }),
        plans: (paused) => {
          const writes = paused?.at === 'locked'
          return [
            planRoute(limits(), room, {
              writes,
              reads: writes && paused.before.includes('sagapost.subscriptions'),
            }),
          ]
        },
        observe: observeValue(
          ({ events, deliveries, more, large }: Awaited<ReturnType<typeof routeEvents>>) => ({
            events: events.length,
            deliveries,
            more,
            large,
          }),
        ),
        forget() {
          world.routers[router] = createSubscriptionCache()
        },
        // For what was queued again, and is in other hands from the first time, or has deliveries that are.
        waits: (model) => isHeld(model, takeRows(model, world.look, 'unrouted', { most }).batch),
        canHold: true,
      }
    }
    case 'spread': {
      const { router, room } = operation
      return {
        operation,
        role: 'router_worker',
        run: (pool) =>
          spreadEvents(pool, world.routers[router] as ReturnType<typeof createSubscriptionCache>, room),
        plans: (paused) => {
          const writes = paused?.at === 'locked'
          return [
            planSpread(room, { writes, reads: writes && paused.before.includes('sagapost.subscriptions') }),
          ]
        },
        observe: observeValue((piece: Awaited<ReturnType<typeof spreadEvents>>) => ({
          events: piece?.events.length ?? null,
          deliveries: piece?.deliveries ?? null,
        })),
        forget() {
          world.routers[router] = createSubscriptionCache()
        },
        waits: (model) =>
          isHeld(
            model,
            [largeRow(model)].filter((row) => row !== undefined),
          ),
        canHold: true,
      }
    }
    case 'apply': {
      const { most } = operation
      const limits = () =>
        limitsBeside(world.model, 'unapplied', most, beside?.do === 'apply' ? beside.most : undefined)
      return {
        operation,
        role: 'saga_orchestrator',
        run: (pool) => applyResults(pool, { batchMax: most, policy: settings.policy, window: wholeWindow }),
        plans: (paused) => [planApply(limits(), { writes: paused?.at === 'locked' })],
        observe: observeValue(({ results, more }: Awaited<ReturnType<typeof applyResults>>) => {
          const ends = { Completed: 0, PendingRetry: 0, DeadLettered: 0 }
          for (const { status } of results) ends[status] += 1
          return { ...ends, more }
        }),
        waits: (model) =>
          takeRows(model, world.look, 'unapplied', { most }).batch.some(({ entries }) =>
            entries.some((job) => model.locked.has(`delivery ${get(model.jobs, job).delivery}`)),
          ),
        canHold: true,
      }
    }
    case 'make': {
      const { most } = operation
      return {
        operation,
        role: 'saga_orchestrator',
        run: (pool) => makeJobs(pool, { range, batchMax: most, limit: settings.policy.limit }),
        plans: () => [planFirstJobs(most), planRetries(most)],
        observe: observeValue(({ first, retries, dead }: Awaited<ReturnType<typeof makeJobs>>) => ({
          first,
          retries,
          dead: dead.length,
        })),
        canHold: true,
      }
    }
    case 'requeue':
      return bindRequeue(world, operation)
    case 'claim':
    case 'report':
    case 'give back':
    case 'recover':
    case 'clean':
      return bindJobOperation(world, operation, beside?.do === operation.do)
    case 'put aside':
    case 'stop jobs':
    case 'end stopped':
    case 'cancel':
      return bindStopOperation(world, operation, beside?.do === operation.do)
    default:
      return bindSubscriptionOperation(world, operation)
  }
}

function bindPublish(world: World, operation: Operation & { do: 'publish' | 'republish' }): Call | null {
  const publication =
    operation.do === 'publish' ? newPublication(world, operation) : knownPublication(world, operation)
  if (publication === null) return null
  const { type, payload, key } = publication
  const isBatch = operation.how === 'batch'
  // Of the same key twice in one batch, the second is a duplicate of the first.
  const items = isBatch && key !== null ? [publication, publication] : [publication]
  if (isBatch && operation.do === 'publish') {
    // The first two of one type, which wait in one row; the third of another.
    for (const other of [0, 1].slice(0, operation.others)) {
      items.push(newPublication(world, { ...operation, type: operation.type + other, keyed: false }))
    }
  }
  return {
    operation,
    role: 'event_ingest_writer',
    run: (pool) =>
      isBatch
        ? storeEvents(
            pool,
            items.map(({ type, payload, key }) => ({
              type,
              payload,
              ...(key === null ? {} : { idempotencyKey: key }),
            })),
          )
        : inTransaction(pool, (client) =>
            publish(client, { type, payloadJson: payload, idempotencyKey: key ?? undefined }),
          ),
    plans: () => [planPublish(items, { tellsDuplicates: isBatch })],
    observe(ending, look) {
      const nameOf = (id: string) => [...look.eventIds].find(([, known]) => known === id)?.[0] ?? `?${id}`
      if ('value' in ending && isBatch)
        return { stored: (ending.value as StoreOutcome[]).map(nameOutcome(nameOf)) }
      if ('value' in ending) return { stored: [nameOf(ending.value as string)] }
      const isConflict = 'refused' in ending && ending.refused === 'idempotency_conflict'
      return isConflict ? { stored: ['conflict'] } : { ...ending }
    },
    learn(ending) {
      const ids = acknowledgedIds(ending)
      for (const [at, id] of ids.entries()) {
        if (id !== null) world.published.set(id, sha256((items[at] as Publication).payload))
      }
      const wanted = world.publications.find((each) => each.key === key && each.payload === payload)
      if (typeof ids[0] === 'string' && wanted) wanted.acknowledged = true
    },
    waits: (model) => key !== null && model.locked.has(`key ${key}`),
    canHold: true,
  }
}

const nameOutcome = (nameOf: (id: string) => string) => (outcome: StoreOutcome) => {
  if (!('refusal' in outcome)) return `${nameOf(outcome.id)}${outcome.duplicate ? ' again' : ''}`
  return outcome.refusal.code === 'idempotency_conflict' ? 'conflict' : outcome.refusal.code
}

/** For each item; null: it was refused. */
function acknowledgedIds(ending: Ending): (string | null)[] {
  if (!('value' in ending)) return []
  const { value } = ending as { value: string | StoreOutcome[] }
  return typeof value === 'string' ? [value] : value.map((each) => ('id' in each ? each.id : null))
}

/** With spaces and an escape that only a copy of the bytes keeps. */
const payloadOf = (event: string) => `{ "event":"${event}",  "text":"\\u0041 ü" }`

function newPublication(world: World, { type, keyed }: { type: number; keyed: boolean }): Publication {
  world.count += 1
  const event = `e${world.count}`
  const publication = { type: nameOfType(world, type), payload: payloadOf(event) }
  if (!keyed) return { ...publication, key: null }
  const key = `${world.types[0]} ${event}`
  world.publications.push({ ...publication, key, acknowledged: false })
  return { ...publication, key }
}

function knownPublication(
  world: World,
  { which, other }: Operation & { do: 'republish' },
): Publication | null {
  const known = pick(world.publications, which)
  if (!known) return null
  const { type, key, payload } = known
  const { event } = JSON.parse(payload) as { event: string }
  return { type, key, payload: other ? payloadOf(`${event}*`) : payload }
}

function bindRequeue(world: World, operation: Operation & { do: 'requeue' }): Call | null {
  const letter = pick([...world.model.letters.keys()], operation.which)
  if (letter === undefined) return null
  const { event, subscription, requeues } = get(world.model.deliveries, letter)
  const heir = deliveryName(event, subscription, requeues + 1)
  return {
    operation,
    role: 'dead_letter_operator',
    run: (pool) => requeueDeadLetter(pool, world.look.letterIds.get(letter) as string),
    plans: () => [planRequeue(letter)],
    observe(ending, look) {
      if (!('value' in ending)) return { ...ending }
      const { deliveryId, created } = ending.value as Requeued
      return { created, delivery: look.deliveries.get(heir)?.id === deliveryId ? heir : `?${deliveryId}` }
    },
    // Another request for the same letter, or a change of the subscription, is under way.
    waits: ({ locked, deliveries, subscriptions }) => {
      const { active, verified } = get(subscriptions, subscription)
      return (
        !deliveries.has(heir) &&
        active &&
        verified &&
        (locked.has(`heir ${heir}`) || locked.has(`subscription ${subscription}`))
      )
    },
    canHold: true,
  }
}

/** Events that are in other hands, or have deliveries that are. */
function isHeld(model: Model, rows: readonly QueueRow[]): boolean {
  const held = [...model.deliveries].filter(([name]) => model.locked.has(`delivery ${name}`))
  const heldEvents = new Set(held.map(([, { event }]) => event))
  return rows.some(({ entries }) =>
    entries.some((event) => model.locked.has(`event ${event}`) || heldEvents.has(event)),
  )
}
