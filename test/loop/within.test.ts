import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { within } from '../../src/loop/index.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const never = new Promise<string>(() => {})

it('[O6] returns the result or the error of the work, and leaves no timer behind', async () => {
  expect(await within(1_000, Promise.resolve('done'), () => 'late')).toBe('done')
  await expect(within(1_000, Promise.reject(new Error('failed')), () => 'late')).rejects.toThrow('failed')
  expect(vi.getTimerCount()).toBe(0)
})

it('[O6] returns or throws what the caller makes of a time-out', async () => {
  const late = within(1_000, never, () => 'late')
  const failing = within(1_000, never, () => {
    throw new Error('too late')
  })
  const failed = expect(failing).rejects.toThrow('too late')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await late).toBe('late')
  await failed
})
