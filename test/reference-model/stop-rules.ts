import { HELD_MS, type Job, type Model } from './model.js'
import { choose, get, Mismatch, nothing, type Plan } from './plan.js'
import type { Look } from './read-state.js'
import { bury, settings, stopOf } from './rules.js'
import { enqueue } from './take-rows.js'

/** The fate of a job that was not sent: it is sent, held, or fails with this error. */
export function stopOfJob(model: Model, name: string): 'held' | 'subscription_deleted' | 'cancelled' | null {
  const { delivery } = get(model.jobs, name)
  const { active } = get(model.subscriptions, get(model.deliveries, delivery).subscription)
  return stopOf(model, delivery) ?? (active ? null : 'held')
}

/** [J12] What is held is free when its subscription is on again, what is ended has failed, and no request was made. */
function settleJob(model: Model, name: string, stop: string | null, nowMs: number): void {
  const settled: Partial<Job> =
    stop === null
      ? { status: 'Pending', untilMs: nowMs }
      : stop === 'held'
        ? { status: 'Pending', untilMs: HELD_MS }
        : { status: 'Failed', error: stop }
  Object.assign(get(model.jobs, name), settled)
}

/** A worker has claimed it and was told not to send it. */
export const planPutAside =
  (name: string, token: string, stop: string): Plan =>
  (model) => {
    const { status, token: now } = get(model.jobs, name)
    if (status !== 'Leased' || now !== token) return nothing({})
    const { nowMs } = model
    return {
      locks: [`job ${name}`],
      commit(at, then) {
        settleJob(at, name, stop, nowMs)
        enqueueFailed(at, then, [name], nowMs)
        return {}
      },
    }
  }

export type Stopped = 'free' | 'held' | 'cancelled'

/** Jobs that nobody has claimed: of subscriptions that are off, or held for one that is on or deleted, or cancelled. */
export const planStopJobs =
  (which: Stopped, worker: string, shared: boolean): Plan =>
  (model, look) => {
    const isMeant = {
      free: (name: string, { untilMs }: Job) =>
        untilMs <= model.nowMs && !get(model.subscriptions, subscriptionOf(model, name)).active,
      held: (name: string, { untilMs }: Job) => {
        const { active, deleted } = get(model.subscriptions, subscriptionOf(model, name))
        return untilMs === HELD_MS && (active || deleted)
      },
      cancelled: (_: string, { delivery }: Job) => model.cancelled.has(delivery),
    }[which]
    const found = [...model.jobs].filter(
      ([name, job]) => job.status === 'Pending' && isMeant(name, job) && !model.locked.has(`job ${name}`),
    )
    const chosen = choose({
      what: `stop ${which} jobs`,
      names: found.map(([name]) => name),
      most: Number.POSITIVE_INFINITY,
      isTaken: (name) => {
        const row = look.jobs.get(name)
        return row?.worker === worker && row.token !== get(model.jobs, name).token
      },
      shared,
    })
    const stops = new Map(chosen.map((name) => [name, stopOfJob(model, name)]))
    const { nowMs } = model
    return {
      locks: chosen.map((name) => `job ${name}`),
      commit(at, then) {
        for (const [name, stop] of stops) {
          const token = then.jobs.get(name)?.token ?? null
          if (token === null || token === get(at.jobs, name).token)
            throw new Mismatch(`${name} was put aside under an old token`)
          at.tokens.add(token)
          Object.assign(get(at.jobs, name), { worker, token, untilMs: nowMs + settings.leaseMs })
          settleJob(at, name, stop, nowMs)
        }
        enqueueFailed(at, then, chosen, nowMs)
        return { stopped: [...stops].map(([name, stop]) => `${name} ${stop}`).sort() }
      },
    }
  }

const subscriptionOf = (model: Model, job: string) =>
  get(model.deliveries, get(model.jobs, job).delivery).subscription

function enqueueFailed(model: Model, look: Look, names: readonly string[], sinceMs: number): void {
  const failed = names.filter((name) => get(model.jobs, name).status === 'Failed')
  enqueue(model, look, 'unapplied', { type: null, entries: failed, sinceMs })
}

/** [S15] What waits for a retry ends before its time; first of deleted subscriptions, then what was cancelled. */
export const planEndStopped = (why: 'subscription_deleted' | 'cancelled', shared: boolean): Plan => {
  return (model, look) => {
    const found = [...model.deliveries].filter(
      ([name, { status }]) =>
        status === 'PendingRetry' &&
        !model.locked.has(`delivery ${name}`) &&
        (why === 'cancelled' ? model.cancelled.has(name) : stopOf(model, name) === why),
    )
    const chosen = choose({
      what: 'end stopped',
      names: found.map(([name]) => name),
      most: Number.POSITIVE_INFINITY,
      isTaken: (name) => look.deliveries.get(name)?.status === 'DeadLettered',
      shared,
    })
    return {
      locks: chosen.map((name) => `delivery ${name}`),
      commit(at) {
        for (const name of chosen) bury(at, name, why)
        return { [why]: chosen.length }
      },
    }
  }
}

/** The mark goes when the delivery has ended. */
export const planForgetCancelled: Plan = (model) => ({
  locks: [],
  commit(at) {
    for (const name of model.cancelled) if (isFinal(at, name)) at.cancelled.delete(name)
    return {}
  },
})

const isFinal = (model: Model, name: string) =>
  ['Completed', 'DeadLettered'].includes(get(model.deliveries, name).status)

/** What is open is to end; asked again, the answer is the same. */
export const planCancel =
  (name: string): Plan =>
  (model) => {
    const { status, error } = get(model.deliveries, name)
    if (status === 'DeadLettered' && error === 'cancelled') return nothing({ cancelled: true })
    if (isFinal(model, name)) return nothing({ refused: 'delivery_not_cancellable' })
    return {
      locks: [],
      commit(at) {
        at.cancelled.add(name)
        return { cancelled: true }
      },
    }
  }
