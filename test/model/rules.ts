import { type Delivery, deliveryName, type Job, jobName, type Model } from './model.js'
import { choose, get, nothing, type Plan } from './plan.js'
import type { Look } from './read-state.js'

/** The settings that all parts of a run have. The cap is low, so that two failures reach it. */
export const settings = {
  policy: { baseDelayMs: 30_000, maxDelayMs: 45_000, limit: 3 },
  leaseMs: 60_000,
  lostLeasesMax: 3,
}
const DAY_MS = 86_400_000

const ranks = (look: Look) => (event: string) => Number(look.eventIds.get(event) ?? Number.POSITIVE_INFINITY)

/** What an operation that stands still has yet to do when it goes on. */
export interface Later {
  reads?: boolean
  writes?: boolean
}

/**
 * [R1, R2, U5] The oldest events that nobody else has get a delivery for each subscription of their type that is active and
 * verified, and leave the queue.
 */
export const planRoute =
  (most: number, later: Later = {}): Plan =>
  (model, look) => {
    const rank = ranks(look)
    const free = [...model.queue].filter((event) => !model.locked.has(`event ${event}`))
    const events = free.sort((a, b) => rank(a) - rank(b)).slice(0, most)
    const atStart = later.reads ? undefined : pairsOf(model, events)
    const { nowMs } = model
    return {
      locks: events.map((event) => `event ${event}`),
      commit(at) {
        const pairs = atStart ?? pairsOf(at, events)
        for (const event of events) at.queue.delete(event)
        for (const [event, subscription] of pairs)
          addDelivery(at, event, subscription, 0, later.writes ? at.nowMs : nowMs)
        return { events: events.length, deliveries: pairs.length }
      },
    }
  }

function pairsOf(model: Model, events: readonly string[]): [string, string][] {
  return events.flatMap((event) =>
    [...model.subscriptions]
      .filter(
        ([, { type, active, verified }]) => active && verified && type === get(model.events, event).type,
      )
      .map(([subscription]): [string, string] => [event, subscription]),
  )
}

/** [S5, S19] A delivery begins as Pending, without attempts, due now. */
function addDelivery(model: Model, event: string, subscription: string, requeues: number, nowMs: number) {
  const begun: Delivery = {
    event,
    subscription,
    requeues,
    status: 'Pending',
    attempts: 0,
    nextMs: nowMs,
    error: null,
  }
  model.deliveries.set(deliveryName(event, subscription, requeues), begun)
}

const limitOf = (model: Model, { subscription }: Delivery) =>
  get(model.subscriptions, subscription).limit ?? settings.policy.limit

/** [S4, S13–S15, S17, S18] Each result that nobody has applied counts once; at the limit the delivery is dead. */
export const planApply =
  (most: number): Plan =>
  (model, look) => {
    const names = [...model.jobs].filter(
      ([name, { status, applied }]) =>
        (status === 'Completed' || status === 'Failed') && !applied && !model.locked.has(`job ${name}`),
    )
    const chosen = choose({
      what: 'apply',
      names: names.map(([name]) => name),
      most,
      isTaken: (name) => look.jobs.get(name)?.applied === true,
    })
    const limits = new Map(
      chosen.map((name) => [name, limitOf(model, get(model.deliveries, get(model.jobs, name).delivery))]),
    )
    const { nowMs } = model
    return {
      locks: chosen.flatMap((name) => [`job ${name}`, `delivery ${get(model.jobs, name).delivery}`]),
      commit(at) {
        const ends = { Completed: 0, PendingRetry: 0, DeadLettered: 0 }
        for (const name of chosen) {
          const job = get(at.jobs, name)
          const delivery = get(at.deliveries, job.delivery)
          job.applied = true
          delivery.attempts += 1
          if (job.status === 'Completed') {
            delivery.status = 'Completed'
            delivery.error = null
            ends.Completed += 1
            continue
          }
          delivery.error = job.error
          delivery.nextMs = nowMs + delayMs(delivery.attempts, job.retryAfterS)
          if (delivery.attempts < (limits.get(name) as number)) {
            delivery.status = 'PendingRetry'
            ends.PendingRetry += 1
          } else {
            bury(at, job.delivery)
            ends.DeadLettered += 1
          }
        }
        return ends
      },
    }
  }

function delayMs(attempts: number, retryAfterS: number | null): number {
  const { baseDelayMs, maxDelayMs } = settings.policy
  const backoffMs = Math.min(baseDelayMs * 2 ** (attempts - 1), maxDelayMs)
  return Math.max(backoffMs, Math.min((retryAfterS ?? 0) * 1000, DAY_MS))
}

/** [D2, D3, J11] */
function bury(model: Model, name: string): void {
  const delivery = get(model.deliveries, name)
  delivery.status = 'DeadLettered'
  const last = get(model.jobs, jobName(name, delivery.attempts))
  model.letters.set(name, {
    error: delivery.error,
    attempts: delivery.attempts,
    payload: get(model.events, delivery.event).payload,
    worker: last.worker,
    leaseMs: last.untilMs,
  })
}

/** [S16 a] */
export const planFirstJobs =
  (most: number): Plan =>
  (model, look) => {
    const names = [...model.deliveries].filter(
      ([name, { status }]) => status === 'Pending' && !model.locked.has(`delivery ${name}`),
    )
    const chosen = choose({
      what: 'make first jobs',
      names: names.map(([name]) => name),
      most,
      isTaken: (name) => look.deliveries.get(name)?.status !== 'Pending',
    })
    const { nowMs } = model
    return {
      locks: chosen.map((name) => `delivery ${name}`),
      commit(at) {
        for (const name of chosen) addJob(at, name, 1, nowMs)
        return { first: chosen.length }
      },
    }
  }

/** [S10, S12, S15, S16 b] Deliveries whose time has come: a job below the limit, the end at it. */
export const planRetries =
  (most: number): Plan =>
  (model, look) => {
    const due = [...model.deliveries].filter(
      ([name, { status, nextMs }]) =>
        status === 'PendingRetry' && nextMs <= model.nowMs && !model.locked.has(`delivery ${name}`),
    )
    const chosen = choose({
      what: 'make retries',
      names: due.map(([name]) => name),
      most,
      isTaken: (name) => look.deliveries.get(name)?.status !== 'PendingRetry',
      order: (name) => get(model.deliveries, name).nextMs,
    })
    const again = chosen.filter((name) => {
      const delivery = get(model.deliveries, name)
      return delivery.attempts < limitOf(model, delivery)
    })
    const { nowMs } = model
    return {
      locks: chosen.map((name) => `delivery ${name}`),
      commit(at) {
        for (const name of chosen) {
          if (again.includes(name)) addJob(at, name, get(at.deliveries, name).attempts + 1, nowMs)
          else bury(at, name)
        }
        return { retries: again.length, dead: chosen.length - again.length }
      },
    }
  }

function addJob(model: Model, delivery: string, attempt: number, nowMs: number): void {
  get(model.deliveries, delivery).status = 'InProgress'
  const job: Job = {
    delivery,
    attempt,
    status: 'Pending',
    worker: null,
    token: null,
    untilMs: nowMs,
    resets: 0,
    probes: 0,
    error: null,
    response: null,
    retryAfterS: null,
    applied: false,
    madeAtMs: nowMs,
  }
  model.jobs.set(jobName(delivery, attempt), job)
}

/** [D4, S19] A letter is requeued once, while its subscription is active; asked again, the answer is the same. */
export const planRequeue =
  (letter: string): Plan =>
  (model) => {
    const { event, subscription, requeues } = get(model.deliveries, letter)
    const heir = deliveryName(event, subscription, requeues + 1)
    if (model.deliveries.has(heir)) return nothing({ created: false, delivery: heir })
    const { active, verified } = get(model.subscriptions, subscription)
    if (!active || !verified) return nothing({ refused: 'subscription_inactive' })
    const { nowMs } = model
    return {
      locks: [`heir ${heir}`, `share ${subscription}`],
      commit(at) {
        addDelivery(at, event, subscription, requeues + 1, nowMs)
        return { created: true, delivery: heir }
      },
    }
  }
