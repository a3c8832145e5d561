import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRequestPace } from '../../../src/delivery/worker/request-pace.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('[J3] one begins, the next after a pause, at the end of which the caller is notified', async () => {
  const onFree = vi.fn()
  const pace = createRequestPace(onFree)
  expect(pace.mayBegin()).toBe(true)
  pace.begun(4)
  vi.advanceTimersByTime(3)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([false, 0])
  vi.advanceTimersByTime(1)
  await new Promise(setImmediate)
  expect([pace.mayBegin(), onFree.mock.calls.length]).toEqual([true, 1])
})

it('notifies nobody after it was stopped', async () => {
  const onFree = vi.fn()
  const pace = createRequestPace(onFree)
  pace.begun(4)
  pace.stop()
  vi.advanceTimersByTime(10)
  await new Promise(setImmediate)
  expect(onFree).not.toHaveBeenCalled()
})

it('[J3] lets answers be read between two starts, even where the pauses are over at once', async () => {
  vi.useRealTimers()
  const order: string[] = []
  await new Promise<void>((resolve) => {
    const pace = createRequestPace(begin)
    function begin(): void {
      order.push('start')
      if (order.length >= 8) {
        resolve()
        return
      }
      pace.begun(1)
      setImmediate(() => order.push('turn'))
      const until = performance.now() + 5
      while (performance.now() < until);
    }
    // Timers come before the answers that are read: after an immediate, a timer that is over is the next thing.
    setImmediate(begin)
  })
  expect(order.join(' ')).not.toContain('start start')
})
