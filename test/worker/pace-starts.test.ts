import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { paceStarts } from '../../src/worker/pace-starts.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('[J3] one begins, the next after a pause, at whose end somebody is told', () => {
  const onFree = vi.fn()
  const pace = paceStarts(onFree)
  expect(pace.mayBegin()).toBe(true)
  pace.begun(4)
  vi.advanceTimersByTime(3)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([false, 0])
  vi.advanceTimersByTime(1)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([true, 1])
})

it('tells nobody any more when it was stopped', () => {
  const onFree = vi.fn()
  const pace = paceStarts(onFree)
  pace.begun(4)
  pace.stop()
  vi.advanceTimersByTime(10)
  expect(onFree).not.toHaveBeenCalled()
})
