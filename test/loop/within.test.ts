import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { within } from '../../src/loop/index.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const never = new Promise<string>(() => {})

it('[O6] gives what the work gives, its failure too, and leaves no timer behind', async () => {
  expect(await within(1_000, Promise.resolve('done'), () => 'late')).toBe('done')
  await expect(within(1_000, Promise.reject(new Error('failed')), () => 'late')).rejects.toThrow('failed')
  expect(vi.getTimerCount()).toBe(0)
})

it('[O6] gives what is made of being late, or fails with it', async () => {
  const late = within(1_000, never, () => 'late')
  const failing = within(1_000, never, () => {
    throw new Error('too late')
  })
  const failed = expect(failing).rejects.toThrow('too late')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await late).toBe('late')
  await failed
})
