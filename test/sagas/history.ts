import { expect } from 'vitest'
import type { StateStorage } from '../../src/sagas/index.js'
import { replayHistory } from '../support/replay-history.js'

/** The types of a saga's events in their order, a step's with its index behind. */
export async function historyOf(storage: StateStorage, id: string): Promise<string[]> {
  const events = await storage.listEvents(id)
  return events.map(({ type, stepIndex }) => (stepIndex === null ? type : `${type} ${stepIndex}`))
}

/** [G6] The history has no gap, makes legal moves only, and ends where the rows stand. */
export async function expectHistoryToReplay(storage: StateStorage, id: string): Promise<void> {
  const [saga, steps, events] = await Promise.all([
    storage.getSaga(id),
    storage.listSteps(id),
    storage.listEvents(id),
  ])
  const replayed = replayHistory(events, steps.length)
  expect(replayed).toEqual({
    state: saga?.state,
    steps: steps.map(({ state, attempts, compensation }) => ({
      state,
      attempts,
      compensationAttempts: compensation?.attempts ?? 0,
    })),
  })
  expect(saga?.eventCount).toBe(events.length)
  expect(events.every(({ traceId, spanId }) => traceId === saga?.traceId && spanId !== null)).toBe(true)
}
