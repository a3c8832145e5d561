/**
 * What the delivery half knows, in memory, by names that the rules give: an event by what it says, a delivery by its
 * event, its subscription and how often it was requeued, a job by its delivery and attempt.
 */
export interface Model {
  nowMs: number
  events: Map<string, { type: string; payload: string }>
  /** Idempotency keys, as long as they are remembered. */
  keys: Map<string, { event: string; type: string; payload: string; atMs: number }>
  /** Events that are not routed yet. */
  unrouted: QueueRow[]
  subscriptions: Map<string, Subscription>
  deliveries: Map<string, Delivery>
  jobs: Map<string, Job>
  /** Results that are not counted yet. */
  unapplied: QueueRow[]
  /** By delivery. */
  letters: Map<string, Letter>
  /** Cancelled deliveries, until their end is noticed. */
  cancelled: Set<string>
  /** Rows locked by the paused operation: others pass over them, or wait. */
  locked: Set<string>
  /** Tokens of all leases there have been: a new one is new. */
  tokens: Set<string>
  /** Types whose subscriptions were changed after their first event. */
  unsteady: Set<string>
}

/** What one statement has put into a queue: events of one type, or jobs that came to their end. */
export interface QueueRow {
  /** The oldest has the lowest. */
  id: number
  type: string | null
  /** In order of their names. */
  entries: string[]
  sinceMs: number
  /** Somebody has put it there who is no part. */
  byHand?: true
  /** Too large for one transaction: how far it is routed. */
  place?: Place
}

export interface Place {
  /** Its events in the order of the row. */
  order: readonly string[]
  routed: number
  /** Of the next event, the last subscription that has its delivery. */
  last: string | null
}

export interface Subscription {
  type: string
  url: string
  active: boolean
  verified: boolean
  deleted: boolean
  limit: number | null
  changedAtMs: number
}

export interface Delivery {
  event: string
  subscription: string
  requeues: number
  status: 'Pending' | 'InProgress' | 'PendingRetry' | 'Completed' | 'DeadLettered'
  attempts: number
  nextMs: number
  error: string | null
}

export interface Job {
  delivery: string
  attempt: number
  status: 'Pending' | 'Leased' | 'Completed' | 'Failed'
  worker: string | null
  token: string | null
  untilMs: number
  resets: number
  error: string | null
  response: number | null
  retryAfterS: number | null
  madeAtMs: number
}

/** `untilMs` of a job that is held for its subscription. */
export const HELD_MS = Number.POSITIVE_INFINITY

export interface Letter {
  error: string | null
  attempts: number
  payload: string
  worker: string | null
  leaseMs: number
}

export function emptyModel(nowMs: number): Model {
  return {
    nowMs,
    events: new Map(),
    keys: new Map(),
    unrouted: [],
    subscriptions: new Map(),
    deliveries: new Map(),
    jobs: new Map(),
    unapplied: [],
    letters: new Map(),
    cancelled: new Set(),
    locked: new Set(),
    tokens: new Set(),
    unsteady: new Set(),
  }
}

export const deliveryName = (event: string, subscription: string, requeues: number) =>
  `${event}>${subscription}${'+'.repeat(requeues)}`

export const jobName = (delivery: string, attempt: number) => `${delivery} #${attempt}`

/** All that is compared with the database, a line for each row; the database's are written by the same functions. */
export function modelLines(model: Model): string[] {
  return [
    ...[...model.events].map(([name, event]) => eventLine(name, event)),
    ...[...model.keys].map(([key, { event }]) => keyLine(key, event)),
    ...[...model.subscriptions].map(([name, row]) => subscriptionLine(name, row)),
    ...[...model.deliveries].map(([name, row]) => deliveryLine(name, row)),
    ...[...model.jobs].map(([name, row]) => jobLine(name, row)),
    ...model.unrouted.map((row) => queueLine('not routed', row)),
    ...model.unapplied.map((row) => queueLine('not counted', row)),
    ...[...model.letters].map(([name, row]) => letterLine(name, row)),
    ...[...model.cancelled].map(cancelledLine),
  ].sort()
}

export const cancelledLine = (delivery: string) => `cancelled: ${delivery}`

export const eventLine = (name: string, row: { type: string; payload: string }) =>
  `event ${name} of ${row.type}: ${row.payload}`

export const queueLine = (queue: 'not routed' | 'not counted', row: Omit<QueueRow, 'id'>) =>
  `${queue}, type ${row.type}, since ${row.sinceMs}: ${row.entries.join(', ')}${row.place ? placeText(row.place) : ''}`

const placeText = ({ order, routed, last }: Place) =>
  `, in pieces: ${order.slice(routed).join(', ')} from ${last} on`

export const keyLine = (key: string, event: string) => `key ${key} of event ${event}`

export const subscriptionLine = (name: string, row: Subscription) =>
  `subscription ${name} to ${row.type} at ${row.url}: ${row.active ? 'on' : 'off'}, ${row.verified ? '' : 'not '}verified, limit ${row.limit}${row.deleted ? ', deleted' : ''}, changed ${row.changedAtMs}`

export const deliveryLine = (name: string, row: Delivery) =>
  `delivery ${name}: ${row.status}, ${row.attempts} attempts, error ${row.error}, next ${row.nextMs}`

export const jobLine = (name: string, row: Job) =>
  `job ${name}: ${row.status} of ${row.worker} until ${row.untilMs}, token ${row.token}, ${row.resets} resets, error ${row.error}, response ${row.response}, retry after ${row.retryAfterS}, made ${row.madeAtMs}`

export const letterLine = (name: string, row: Letter) =>
  `letter ${name}: error ${row.error}, ${row.attempts} attempts, last by ${row.worker} until ${row.leaseMs}: ${row.payload}`
