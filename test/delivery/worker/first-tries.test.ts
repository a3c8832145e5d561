import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  AT_ONCE_MIN,
  afterAnswer,
  afterSilence,
  createFirstTries,
  PER_TURN,
  SILENT_MS,
} from '../../../src/delivery/worker/first-tries.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Begins as many as may, turn by turn. */
function start(atOnceMax = AT_ONCE_MIN) {
  let begun = 0
  const begin = () => {
    for (; tries.mayBegin(); begun++) tries.begun(String(begun))
  }
  const tries = createFirstTries(atOnceMax, begin)
  begin()
  return {
    tries,
    begin,
    begun: () => begun,
    answer: (from: number, to: number) => {
      for (let id = from; id < to; id++) tries.ended(String(id))
      begin()
    },
  }
}

it('[J3] a few begin together, and the next when others have had their turn', () => {
  const { begun } = start()
  expect(begun()).toBe(PER_TURN)
  vi.advanceTimersByTime(0)
  expect(begun()).toBe(2 * PER_TURN)
})

it('[J3] the number of unanswered requests is bounded, and each answer makes room for one', () => {
  const { tries, begun, answer } = start()
  vi.advanceTimersByTime(SILENT_MS - 1)
  expect([begun(), tries.waiting()]).toEqual([AT_ONCE_MIN, AT_ONCE_MIN])
  answer(0, 3)
  expect([begun(), tries.waiting()]).toEqual([AT_ONCE_MIN + 3, AT_ONCE_MIN])
})

it('[J3] a request without an answer gives up its place, so that hanging endpoints delay nobody for long', () => {
  const { begun } = start()
  vi.advanceTimersByTime(10 * SILENT_MS - 1)
  expect(begun()).toBe(10 * AT_ONCE_MIN)
})

it('[J3] with answers more requests wait together, up to a limit, and fewer again when some are silent', () => {
  const { tries, begun, answer } = start(4 * AT_ONCE_MIN)
  for (let round = 0; round < 10; round++) {
    vi.advanceTimersByTime(SILENT_MS / 2)
    answer(0, begun())
  }
  vi.advanceTimersByTime(SILENT_MS / 2)
  expect(tries.waiting()).toBe(4 * AT_ONCE_MIN)
  vi.advanceTimersByTime(10 * SILENT_MS)
  expect(tries.waiting()).toBe(AT_ONCE_MIN)
})

it('[J3] whatever is answered and whatever is silent, the number stays within its bounds and moves in the right direction', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean()), fc.integer({ min: AT_ONCE_MIN, max: 500 }), (answers, most) => {
      let atOnce = AT_ONCE_MIN
      for (const isAnswered of answers) {
        const next = isAnswered ? afterAnswer(atOnce, most) : afterSilence(atOnce)
        expect(next).toBeGreaterThanOrEqual(AT_ONCE_MIN)
        expect(next).toBeLessThanOrEqual(most)
        if (isAnswered) expect(next).toBe(atOnce === most ? most : atOnce + 1)
        else expect(next).toBe(Math.max(AT_ONCE_MIN, Math.floor(atOnce / 2)))
        atOnce = next
      }
    }),
  )
})

it('begins nothing after it was stopped', () => {
  const { tries, begun } = start()
  tries.stop()
  vi.advanceTimersByTime(10 * SILENT_MS)
  expect(begun()).toBe(PER_TURN)
})
