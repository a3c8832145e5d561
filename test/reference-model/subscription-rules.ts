import type { Model, Subscription } from './model.js'
import { choose, get, nothing, type Plan } from './plan.js'
import { eventName } from './read-state.js'
import type { Later } from './rules.js'
import { enqueue } from './take-rows.js'

export interface Publication {
  type: string
  payload: string
  key: string | null
}

/** [E3] A key stands for one event: the same again is a duplicate, another is refused. [R1] What is new waits to be routed. */
export const planPublish =
  (items: readonly Publication[], { tellsDuplicates = true } = {}): Plan =>
  (model) => {
    const { nowMs } = model
    // Those that are known are looked up now; they may be forgotten before it commits.
    const known = new Map(model.keys)
    return {
      locks: items.flatMap(({ key }) => (key === null || model.keys.has(key) ? [] : [`key ${key}`])),
      commit(at, look) {
        const before = new Set(at.events.keys())
        const stored = items.map((item) => store(at, item, known, nowMs))
        const added = [...at.events].filter(([name]) => !before.has(name))
        for (const type of new Set(added.map(([, event]) => event.type))) {
          const entries = added.filter(([, event]) => event.type === type).map(([name]) => name)
          enqueue(at, look, 'unrouted', { type, entries, sinceMs: nowMs })
        }
        return { stored: tellsDuplicates ? stored : stored.map((name) => name.replace(' again', '')) }
      },
    }
  }

function store(
  model: Model,
  { type, payload, key }: Publication,
  keys: Model['keys'],
  nowMs: number,
): string {
  const known = key === null ? undefined : (keys.get(key) ?? model.keys.get(key))
  if (known) return known.type === type && known.payload === payload ? `${known.event} again` : 'conflict'
  const name = eventName(payload, (taken) => model.events.has(taken))
  model.events.set(name, { type, payload })
  if (key !== null) model.keys.set(key, { event: name, type, payload, atMs: nowMs })
  return name
}

/** [E3] Keys older than the window are free again. */
export const planForgetKeys =
  (windowMs: number): Plan =>
  (model) => ({
    locks: [],
    commit(at) {
      for (const [key, { atMs }] of at.keys) if (atMs < model.nowMs - windowMs) at.keys.delete(key)
      return {}
    },
  })

export type Change = Partial<Pick<Subscription, 'active' | 'limit' | 'url'>>

/** [U4, U6] Active only while verified; another URL takes both away. */
export const planChange =
  (name: string, change: Change, later: Later = {}): Plan =>
  (model) => {
    const { nowMs } = model
    const { deleted, verified } = get(model.subscriptions, name)
    if (deleted) return nothing({ refused: 'subscription_deleted' })
    if (change.active && !verified) return nothing({ refused: 'subscription_not_verified' })
    return {
      locks: [`subscription ${name}`, ...(later.writes ? [] : ['version'])],
      commit(at) {
        const row = get(at.subscriptions, name)
        const moved = change.url !== undefined && change.url !== row.url
        Object.assign(row, change, moved ? { active: false, verified: false } : {})
        touch(at, name, later.writes ? at.nowMs : nowMs)
        return { active: row.active }
      },
    }
  }

export function touch(model: Model, name: string, nowMs: number): void {
  const row = get(model.subscriptions, name)
  row.changedAtMs = nowMs
  if ([...model.events.values()].some(({ type }) => type === row.type)) model.unsteady.add(row.type)
}

/** [U4] Four statements that commit by themselves: the challenge is stored, secrets read, the answer confirmed, the row read. */
export const planVerify = (name: string): Plan[] => {
  const isGone = (model: Model) => get(model.subscriptions, name).deleted
  const change =
    (values: Partial<Subscription>): Plan =>
    (model) =>
      isGone(model)
        ? nothing({ refused: 'subscription_deleted' })
        : {
            locks: [],
            commit(at) {
              Object.assign(get(at.subscriptions, name), values)
              touch(at, name, model.nowMs)
              return { verified: true }
            },
          }
  const read: Plan = () => nothing()
  return [change({}), read, change({ verified: true, active: true }), read]
}

/** Final, and repeatable. */
export const planRemove =
  (name: string): Plan =>
  (model) => {
    if (get(model.subscriptions, name).deleted) return nothing({ deleted: true })
    return {
      locks: [],
      commit(at) {
        Object.assign(get(at.subscriptions, name), { deleted: true, active: false })
        touch(at, name, model.nowMs)
        return { deleted: true }
      },
    }
  }

/** Active subscriptions with a 410 to a job that was made since they were changed last [J7]. */
export function goneSubscriptions(model: Model): string[] {
  return [...model.subscriptions]
    .filter(
      ([name, { active, changedAtMs }]) =>
        active &&
        [...model.jobs.values()].some(
          ({ error, delivery, madeAtMs }) =>
            error === 'http_410' &&
            get(model.deliveries, delivery).subscription === name &&
            madeAtMs >= changedAtMs,
        ),
    )
    .map(([name]) => name)
    .sort()
}

/** One after the other, in any order. `most`: it came no further. */
export const planSwitchOff =
  (most = Number.POSITIVE_INFINITY): Plan =>
  (model, look) => ({
    locks: [],
    commit(at) {
      const names = goneSubscriptions(model)
      const gone = choose({ what: 'switch off', names, most, isTaken: (name) => look.inactive.has(name) })
      for (const name of gone) {
        get(at.subscriptions, name).active = false
        touch(at, name, model.nowMs)
      }
      return { gone }
    },
  })
