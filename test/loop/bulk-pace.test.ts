import { afterEach, expect, it, vi } from 'vitest'
import { createBulkPace } from '../../src/loop/index.js'

afterEach(() => void vi.restoreAllMocks())

it('[R1, S7] full rounds keep their distance only while work is left and workers have a backlog', () => {
  let nowMs = 1_000
  let hasBacklog = true
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const pace = createBulkPace(() => hasBacklog)
  expect([pace.hasMore(), pace.dueInMs()]).toEqual([false, 0])
  pace.ended(1_000, true)
  nowMs = 1_020
  expect([pace.hasMore(), pace.dueInMs()]).toEqual([true, 30])
  hasBacklog = false
  expect(pace.dueInMs()).toBe(0)
  hasBacklog = true
  nowMs = 1_060
  expect(pace.dueInMs()).toBe(0)
  pace.ended(1_060, false)
  expect([pace.hasMore(), pace.dueInMs()]).toEqual([false, 0])
})

it('[R1, S7] rounds past a backlog that meet other bursts are as far apart as full ones', () => {
  const pace = createBulkPace(() => true)
  const after = (count: number) => {
    pace.passed(count)
    return pace.passingSpacingMs()
  }
  expect([after(0), after(50), after(51), after(1)]).toEqual([25, 25, 50, 25])
})
