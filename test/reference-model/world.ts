import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import type { ClaimedJob } from '../../src/delivery/worker/claim-jobs.js'
import type { WebhookOutcome } from '../../src/webhook/index.js'
import type { TestDatabase } from '../support/database.js'
import { createReceiverLog, type ReceiverLog } from '../support/receiver-log.js'
import type { FaultyPool } from './faulty-pool.js'
import { emptyModel, type Model } from './model.js'
import type { Facts, Plan, Planned } from './plan.js'
import { type Look, type Origin, readState } from './read-state.js'
import type { Operation } from './steps.js'
import type { Publication } from './subscription-rules.js'

/** A job in a worker's hands, as the worker knows it. */
export interface Holding {
  worker: number
  job: ClaimedJob
  name: string
  /** Null until the request was made. */
  outcome: WebhookOutcome | null
  /** The database has said what became of its report. */
  reported: boolean
}

/** How a call ended for the part that made it. */
export type Ending = { value: unknown } | { refused: string } | { lost: true }

/** A step's operation, with everything chosen that it works on. */
export interface Call {
  operation: Operation
  role: Parameters<TestDatabase['as']>[0]
  run(pool: FaultyPool['pool']): Promise<unknown>
  /** Its transactions, in order. `paused`: how it stands still. */
  plans(paused?: { at: 'locked' | 'commit'; before: string }): Plan[]
  /** Those of its transactions that were made before it was lost, where that is not simply the first of them. */
  plansUpTo?(commits: number): Plan[]
  /** What was answered, in the model's terms. */
  observe(ending: Ending, look: Look): Facts
  /** What the part, or the publisher, knows from now on. */
  learn?(ending: Ending, look: Look): void
  /** The process is dead, and what it knew. */
  forget?(): void
  /** Whether it has to wait for the paused operation. */
  waits?(model: Model): boolean
  canHold: boolean
}

interface Held {
  call: Call
  part: FaultyPool
  running: Promise<Ending>
  end: 'commit' | 'crash'
  planned: Planned
  /** What its earlier transactions answered, and those that it still has to make. */
  facts: Facts
  rest: Plan[]
}

/** The database, with pools that the parts would have. */
export type RunDatabase = Pick<TestDatabase, 'pool' | 'as'>

/** One run: the model, what the parts have in memory, and what the world outside has seen. */
export interface World {
  database: RunDatabase
  origin: Origin
  /** The event ids that are this run's. */
  range: { from: string; to: string }
  types: readonly string[]
  model: Model
  look: Look
  routers: ReturnType<typeof createSubscriptionCache>[]
  holdings: Holding[]
  /** Tokens of claims that were not answered, or not yet. */
  unanswered: { worker: number; token: string }[]
  /** Keyed events that were to be published, and whether the answer has arrived. */
  publications: (Publication & { key: string; acknowledged: boolean })[]
  /** Acknowledged events, by id. */
  published: Map<string, string>
  log: ReceiverLog
  /** Event and subscription of requests that were answered with 2xx. */
  delivered: Set<string>
  held: Held | null
  /** What was done so far. */
  trace: string[]
  /** For names. */
  count: number
}

const readOrigin = `
  SELECT (SELECT last_value + is_called::int FROM sagapost.events_id_seq)::text AS "eventId",
         (SELECT coalesce(max(id), 0) + 1 FROM sagapost.subscriptions)::text AS "subscriptionId",
         extract(epoch FROM sagapost.now()) * 1000 AS now_ms`

let runs = 0

export async function makeWorld(database: RunDatabase, rangeEnd: string): Promise<World> {
  // The subscriptions of earlier runs are out of everybody's way.
  await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE active')
  const { rows } = await database.pool.query<Origin & { now_ms: string }>(readOrigin)
  const [found] = rows
  if (!found) throw new Error('reading returned nothing')
  const { eventId, subscriptionId, now_ms } = found
  const origin = { eventId, subscriptionId }
  runs += 1
  return {
    database,
    origin,
    range: { from: eventId, to: rangeEnd },
    types: [`run-${runs}.a`, `run-${runs}.b`],
    model: emptyModel(Number(now_ms)),
    look: await readState(database.pool, origin),
    routers: [createSubscriptionCache(), createSubscriptionCache()],
    holdings: [],
    unanswered: [],
    publications: [],
    published: new Map(),
    log: createReceiverLog(),
    delivered: new Set(),
    held: null,
    trace: [],
    count: 0,
  }
}

export const nameOfType = (world: World, index: number): string =>
  world.types[index % world.types.length] as string

/** The existing one that a number selects. */
export const pick = <T>(all: readonly T[], index: number): T | undefined => all[index % all.length]

/** For the answers of calls that are not refused. */
export const observeValue =
  <T>(observe: (value: T) => Facts): Call['observe'] =>
  (ending) =>
    'value' in ending ? observe(ending.value as T) : { ...ending }
