import { isDeepStrictEqual } from 'node:util'
import { decodeJson } from '../../json.js'
import { sagaOfTopic, signalTopic } from '../../topics.js'
import type { SignalOutcome, StateStorage } from '../state-storage.js'
import type { Kept } from './memory-storage.js'

const KEPT_MS = 30 * 86_400_000

export interface MemorySignals extends Pick<StateStorage, 'signal' | 'findSignals' | 'cleanUpSignals'> {
  /** Reports news of a topic at once. */
  tell(topic: string): void
}

/** The equivalent of saga_signals and saga_wakeups on PostgreSQL. */
export function keepSignals(all: ReadonlyMap<string, Kept>, now: (plusMs?: number) => Date): MemorySignals {
  const kept = new Map<string, Omit<SignalOutcome, 'same' | 'created'> & { readonly payload: unknown }>()

  const waitersOf = (topic: string): Kept[] =>
    [...all.values()].filter(
      ({ saga, steps }) =>
        (saga.parentId !== null && saga.parentId === sagaOfTopic(topic)) ||
        steps.some(
          ({ state, waitsFor }) => waitsFor === topic && (state === 'Running' || state === 'Compensating'),
        ),
    )

  const tell = (topic: string): void => {
    for (const waiter of waitersOf(topic)) {
      const { state, leaseOwner } = waiter.saga
      if (!['Pending', 'Running', 'StepCompleted', 'Compensating'].includes(state)) continue
      waiter.woken = true
      if (leaseOwner === null) waiter.saga = { ...waiter.saga, wakeAt: now() }
    }
  }

  return {
    tell,
    async signal({ name, key, payload }) {
      const topic = signalTopic(name, key)
      const first = kept.get(topic)
      if (first && first.expiresAt > now()) {
        const { receivedAt, expiresAt } = first
        const same = isDeepStrictEqual(first.payload, decodeJson(payload))
        return { created: false, receivedAt, expiresAt, same }
      }
      const times = { receivedAt: now(), expiresAt: now(KEPT_MS) }
      kept.set(topic, { ...times, payload: decodeJson(payload) })
      tell(topic)
      return { created: true, ...times, same: true }
    },
    async findSignals(wanted) {
      const topics = wanted.map(({ name, key }) => signalTopic(name, key))
      return new Map(
        topics.flatMap((topic) => {
          const come = kept.get(topic)
          return come ? [[topic, { payload: come.payload }] as const] : []
        }),
      )
    },
    async cleanUpSignals(limit) {
      const expired = [...kept]
        .filter(([topic, { expiresAt }]) => expiresAt < now() && waitersOf(topic).length === 0)
        .sort(([, a], [, b]) => Number(a.expiresAt) - Number(b.expiresAt))
        .slice(0, limit)
      for (const [topic] of expired) kept.delete(topic)
      return expired.length
    },
  }
}
