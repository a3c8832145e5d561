import { expect, it } from 'vitest'
import { spaceRounds } from '../../src/loop/index.js'

it('[R1] rounds are further apart after large batches that took long, up to a limit, while workers have a backlog', () => {
  let hasBacklog = true
  const spacing = spaceRounds(() => hasBacklog)
  const after = (items: number, tookMs: number) => {
    spacing.ended(items, tookMs)
    return spacing.ms()
  }
  expect(spacing.ms()).toBe(10)
  const times = [after(100, 5), after(100, 6), after(100, 8), after(500, 14), after(500, 900)]
  expect(times).toEqual([10, 20, 40, 100, 100])
  hasBacklog = false
  expect(spacing.ms()).toBe(10)
  hasBacklog = true
  // A round that took long with little to do holds up nothing: the disk was slow, say.
  expect([after(99, 900), after(0, 900)]).toEqual([10, 10])
})
