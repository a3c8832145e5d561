import { type Delivery, deliveryName, type Job, jobName, type Model } from './model.js'
import { choose, get, nothing, type Plan } from './plan.js'
import { type Limits, removeRows, rowLock, takeRows } from './take-rows.js'

/** The settings that all parts of a run have. The cap is low, so that two failures reach it. */
export const settings = {
  policy: { baseDelayMs: 30_000, maxDelayMs: 45_000, retryAfterMaxS: 86_400, limit: 3 },
  leaseMs: 60_000,
  lostLeasesMax: 3,
}

/** What a paused operation still has to do when it continues. */
export interface Later {
  reads?: boolean
  writes?: boolean
}

/** [S5, S19] A delivery begins as Pending, without attempts, due now. */
export function addDelivery(
  model: Model,
  event: string,
  subscription: string,
  requeues: number,
  nowMs: number,
) {
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

/** Why nothing more is sent of a delivery. */
export function stopOf(model: Model, name: string): 'subscription_deleted' | 'cancelled' | null {
  if (get(model.subscriptions, get(model.deliveries, name).subscription).deleted)
    return 'subscription_deleted'
  return model.cancelled.has(name) ? 'cancelled' : null
}

const limitOf = (model: Model, { subscription }: Delivery) =>
  get(model.subscriptions, subscription).limit ?? settings.policy.limit

/** [S4] The result of the attempt that the delivery is at; any other was counted before, or has not come yet. */
function isNew(model: Model, name: string): boolean {
  const { status, attempt, delivery } = get(model.jobs, name)
  return (
    (status === 'Completed' || status === 'Failed') &&
    attempt === get(model.deliveries, delivery).attempts + 1
  )
}

/** [S4, S13–S15, S17, S18] Each new result counts once; at the limit the delivery is dead. */
export const planApply =
  (limits: Limits, later: Later = {}): Plan =>
  (model, look) => {
    const { held, batch, more } = takeRows(model, look, 'unapplied', limits)
    const jobs = [...new Set(batch.flatMap(({ entries }) => entries))]
    const decide = (at: Model) =>
      jobs
        .filter((job) => isNew(at, job))
        .map((job) => {
          const { delivery } = get(at.jobs, job)
          return { job, limit: limitOf(at, get(at.deliveries, delivery)), stop: stopOf(at, delivery) }
        })
    const atStart = later.writes ? undefined : decide(model)
    const { nowMs } = model
    return {
      locks: [
        ...held.map((row) => rowLock('unapplied', row)),
        ...(atStart ?? []).map(({ job }) => `delivery ${get(model.jobs, job).delivery}`),
      ],
      commit(at) {
        removeRows(at, 'unapplied', batch)
        const ends = { Completed: 0, PendingRetry: 0, DeadLettered: 0 }
        for (const { job, ...end } of atStart ?? decide(at)) {
          ends[count(at, get(at.jobs, job), end, later.writes ? at.nowMs : nowMs)] += 1
        }
        return { ...ends, more }
      },
    }
  }

function count(
  model: Model,
  job: Job,
  { limit, stop }: { limit: number; stop: string | null },
  nowMs: number,
): 'Completed' | 'PendingRetry' | 'DeadLettered' {
  const delivery = get(model.deliveries, job.delivery)
  delivery.attempts += 1
  delivery.error = job.error
  if (job.status === 'Completed') {
    delivery.status = 'Completed'
    return 'Completed'
  }
  delivery.nextMs = nowMs + delayMs(delivery.attempts, job.retryAfterS)
  delivery.status = 'PendingRetry'
  if (delivery.attempts < limit && stop === null) return 'PendingRetry'
  bury(model, job.delivery, stop)
  return 'DeadLettered'
}

function delayMs(attempts: number, retryAfterS: number | null): number {
  const { baseDelayMs, maxDelayMs, retryAfterMaxS } = settings.policy
  const backoffMs = Math.min(baseDelayMs * 2 ** (attempts - 1), maxDelayMs)
  return Math.max(backoffMs, Math.min(retryAfterS ?? 0, retryAfterMaxS) * 1000)
}

/** [D2, D3, J11] One that was stopped ends with the reason for that. */
export function bury(model: Model, name: string, stop: string | null): void {
  const delivery = get(model.deliveries, name)
  delivery.status = 'DeadLettered'
  delivery.error = stop ?? delivery.error
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
      return delivery.attempts < limitOf(model, delivery) && stopOf(model, name) === null
    })
    const stops = new Map(chosen.map((name) => [name, stopOf(model, name)]))
    const { nowMs } = model
    return {
      locks: chosen.map((name) => `delivery ${name}`),
      commit(at) {
        for (const name of chosen) {
          if (again.includes(name)) addJob(at, name, get(at.deliveries, name).attempts + 1, nowMs)
          else bury(at, name, stops.get(name) ?? null)
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
    error: null,
    response: null,
    retryAfterS: null,
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
    if (get(model.subscriptions, subscription).deleted) return nothing({ refused: 'subscription_deleted' })
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
