import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { paceStarts } from '../../src/worker/pace-starts.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('[J3] one begins, the next after a pause, at whose end somebody is told', () => {
  const onFree = vi.fn()
  const pace = paceStarts(() => 4, onFree)
  expect(pace.mayBegin()).toBe(true)
  pace.begun()
  vi.advanceTimersByTime(3)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([false, 0])
  vi.advanceTimersByTime(1)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([true, 1])
})

it('tells nobody any more when it was stopped', () => {
  const onFree = vi.fn()
  const pace = paceStarts(() => 4, onFree)
  pace.begun()
  pace.stop()
  vi.advanceTimersByTime(10)
  expect(onFree).not.toHaveBeenCalled()
})
