import type pg from 'pg'
import {
  cancelledLine,
  type Delivery,
  deliveryLine,
  deliveryName,
  eventLine,
  HELD_MS,
  type Job,
  jobLine,
  jobName,
  keyLine,
  type Letter,
  letterLine,
  type QueueRow,
  queueLine,
  type Subscription,
  subscriptionLine,
} from './model.js'

/** What the database holds of one run, by the model's names. */
export interface Look {
  lines: string[]
  eventIds: Map<string, string>
  subscriptionIds: Map<string, string>
  /** Subscriptions that are off. */
  inactive: Set<string>
  deliveries: Map<string, { id: string; status: string }>
  jobs: Map<string, { id: string; status: string; token: string | null; worker: string | null }>
  unrouted: QueueRow[]
  /** The events of each of these rows, as they stand in it. */
  orders: Map<number, readonly string[]>
  unapplied: QueueRow[]
  letterIds: Map<string, string>
  jobNames: Map<string, string>
}

// Everything from the run's first ids on, in one round trip. Texts, since json would round what it cannot hold.
const readRows = `
  SELECT
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id::text, event_type, payload::text
      FROM sagapost.events AS event WHERE id >= $1 ORDER BY event.id) AS row) AS events,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id, event_type, event_ids::text[] AS entries, extract(epoch FROM enqueued_at) * 1000 AS since_ms,
             routed_events AS routed, last_subscription_id::text AS last
      FROM sagapost.event_routing_queue) AS row) AS unrouted,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id, job_ids::text[] AS entries, extract(epoch FROM enqueued_at) * 1000 AS since_ms,
             (SELECT (min(event_id), max(event_id)) = (first_event_id, last_event_id)
              FROM sagapost.webhook_delivery_jobs WHERE id = ANY (job_ids)) AS bounded
      FROM sagapost.delivery_result_queue) AS row) AS unapplied,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT key, event_id::text FROM sagapost.event_keys WHERE event_id >= $1) AS row) AS keys,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id::text, event_type, callback_url, active, verified, deleted_at IS NOT NULL AS deleted, max_attempts,
             extract(epoch FROM updated_at) * 1000 AS changed_ms
      FROM sagapost.subscriptions WHERE id >= $2) AS row) AS subscriptions,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id::text, event_id::text, subscription_id::text, status, attempt_count, final_error_code, requeued_from::text,
             extract(epoch FROM next_attempt_at) * 1000 AS next_ms
      FROM sagapost.webhook_delivery_sagas WHERE event_id >= $1 ORDER BY id) AS row) AS deliveries,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id::text, saga_id::text, attempt, status, worker_id, lease_token, lease_resets, error_code, response_status,
             retry_after_s, extract(epoch FROM lease_until) * 1000 AS until_ms,
             lease_until = sagapost.held_until(subscription_id) AS held,
             extract(epoch FROM attempt_at) * 1000 AS made_ms
      FROM sagapost.webhook_delivery_jobs WHERE event_id >= $1) AS row) AS jobs,
    (SELECT coalesce(json_agg(row), '[]') FROM (
      SELECT id::text, saga_id::text, final_error_code, attempt_count, payload_snapshot::text AS payload, worker_id,
             extract(epoch FROM lease_expiration) * 1000 AS lease_ms
      FROM sagapost.dead_letters WHERE event_id >= $1) AS row) AS letters,
    (SELECT coalesce(json_agg(saga_id::text), '[]') FROM sagapost.delivery_cancellations WHERE event_id >= $1) AS cancelled`

interface Rows {
  events: { id: string; event_type: string; payload: string }[]
  unrouted: {
    id: number
    event_type: string
    entries: string[]
    since_ms: number
    routed: number | null
    last: string | null
  }[]
  unapplied: { id: number; entries: string[]; since_ms: number; bounded: boolean }[]
  keys: { key: string; event_id: string }[]
  subscriptions: {
    id: string
    event_type: string
    callback_url: string
    active: boolean
    verified: boolean
    deleted: boolean
    max_attempts: number | null
    changed_ms: number
  }[]
  deliveries: {
    id: string
    event_id: string
    subscription_id: string
    status: Delivery['status']
    attempt_count: number
    final_error_code: string | null
    requeued_from: string | null
    next_ms: number
  }[]
  jobs: {
    id: string
    saga_id: string
    attempt: number
    status: Job['status']
    worker_id: string | null
    lease_token: string | null
    lease_resets: number
    error_code: string | null
    response_status: number | null
    retry_after_s: number | null
    until_ms: number
    held: boolean
    made_ms: number
  }[]
  letters: {
    id: string
    saga_id: string
    final_error_code: string | null
    attempt_count: number
    payload: string
    worker_id: string | null
    lease_ms: number
  }[]
  cancelled: string[]
}

/** Where a run's rows begin. */
export interface Origin {
  eventId: string
  subscriptionId: string
}

export async function readState(owner: pg.Pool, origin: Origin): Promise<Look> {
  // Under a name, because planning it takes longer than reading.
  const query = { name: 'read_state', text: readRows, values: [origin.eventId, origin.subscriptionId] }
  const { rows } = await owner.query<Rows>(query)
  const [found] = rows
  if (!found) throw new Error('reading returned nothing')
  const lines: string[] = []
  const names = { event: new Map<string, string>(), subscription: new Map<string, string>() }
  const deliveryNames = new Map<string, string>()
  const requeues = new Map<string, number>()
  const sagaOfLetter = new Map(found.letters.map(({ id, saga_id }) => [id, saga_id]))
  const look: Look = {
    lines,
    eventIds: new Map(),
    subscriptionIds: new Map(),
    inactive: new Set(),
    deliveries: new Map(),
    jobs: new Map(),
    unrouted: [],
    orders: new Map(),
    unapplied: [],
    letterIds: new Map(),
    jobNames: new Map(),
  }

  for (const { id, event_type, payload } of found.events) {
    const name = eventName(payload, (taken) => look.eventIds.has(taken))
    names.event.set(id, name)
    look.eventIds.set(name, id)
    lines.push(eventLine(name, { type: event_type, payload }))
  }
  for (const { key, event_id } of found.keys) lines.push(keyLine(key, names.event.get(event_id) ?? event_id))
  for (const row of found.subscriptions) {
    const name = subscriptionName(row.callback_url)
    names.subscription.set(row.id, name)
    look.subscriptionIds.set(name, row.id)
    if (!row.active) look.inactive.add(name)
    const { event_type: type, callback_url: url, active, verified, deleted } = row
    const limit = row.max_attempts
    const told: Subscription = { type, url, active, verified, deleted, limit, changedAtMs: row.changed_ms }
    lines.push(subscriptionLine(name, told))
  }
  for (const row of found.deliveries) {
    const before = row.requeued_from === null ? undefined : sagaOfLetter.get(row.requeued_from)
    const times = before === undefined ? 0 : (requeues.get(before) ?? 0) + 1
    requeues.set(row.id, times)
    const event = names.event.get(row.event_id) ?? `?${row.event_id}`
    const subscription = names.subscription.get(row.subscription_id) ?? `?${row.subscription_id}`
    const name = deliveryName(event, subscription, times)
    deliveryNames.set(row.id, name)
    look.deliveries.set(name, { id: row.id, status: row.status })
    const { status, attempt_count: attempts, next_ms: nextMs, final_error_code: error } = row
    lines.push(deliveryLine(name, { event, subscription, requeues: times, status, attempts, nextMs, error }))
  }
  for (const row of found.jobs) {
    const delivery = deliveryNames.get(row.saga_id) ?? `?${row.saga_id}`
    const name = jobName(delivery, row.attempt)
    const { id, status, lease_token: token, worker_id: worker, attempt } = row
    look.jobs.set(name, { id, status, token, worker })
    look.jobNames.set(id, name)
    const result = { error: row.error_code, response: row.response_status, retryAfterS: row.retry_after_s }
    const lease = {
      worker,
      token,
      untilMs: row.held ? HELD_MS : row.until_ms,
      resets: row.lease_resets,
    }
    lines.push(jobLine(name, { delivery, attempt, status, ...lease, ...result, madeAtMs: row.made_ms }))
  }
  for (const { id, event_type: type, entries, since_ms: sinceMs, routed, last } of found.unrouted) {
    const order = entries.map((each) => names.event.get(each) ?? `?${each}`)
    const place = { order, routed: routed ?? 0, last: names.subscription.get(last ?? '') ?? null }
    const row = { id, type, entries: order.toSorted(), sinceMs, ...(routed !== null && { place }) }
    look.orders.set(id, order)
    look.unrouted.push(row)
    lines.push(queueLine('not routed', row))
  }
  for (const { id, entries, since_ms: sinceMs, bounded } of found.unapplied) {
    const jobs = entries.map((each) => look.jobNames.get(each) ?? `?${each}`).sort()
    // Jobs outside of the bounds would not be found.
    const row = { id, type: bounded ? null : 'out of bounds', entries: jobs, sinceMs }
    look.unapplied.push(row)
    lines.push(queueLine('not counted', row))
  }
  for (const row of found.letters) {
    const name = deliveryNames.get(row.saga_id) ?? `?${row.saga_id}`
    look.letterIds.set(name, row.id)
    const { final_error_code: error, attempt_count: attempts, payload, worker_id: worker } = row
    const letter: Letter = { error, attempts, payload, worker, leaseMs: row.lease_ms }
    lines.push(letterLine(name, letter))
  }
  for (const id of found.cancelled) lines.push(cancelledLine(deliveryNames.get(id) ?? `?${id}`))
  lines.sort()
  return look
}

/** Of several events that say the same, the later ones have a mark more. */
export function eventName(payload: string, isTaken: (name: string) => boolean): string {
  const { event } = JSON.parse(payload) as { event: string }
  let name = event
  while (isTaken(name)) name += "'"
  return name
}

/** `https://receiver.example/s3/moved` is s3's. */
const subscriptionName = (url: string) => url.split('/')[3] ?? url
