import { afterEach, expect, it, vi } from 'vitest'
import { createBacklogMark } from '../../../src/delivery/orchestrator/backlog-mark.js'

afterEach(() => void vi.restoreAllMocks())

it('[S7] a read past a backlog also covers rows that may have been committed late', () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const mark = createBacklogMark()
  const lookAt = (ms: number, saga: string) => {
    nowMs = ms
    mark.looked(saga)
    return mark.pastSaga()
  }
  expect(mark.pastSaga()).toBe('0')
  expect(lookAt(50, '5')).toBe('0')
  expect(lookAt(100, '10')).toBe('0')
  expect(lookAt(150, '15')).toBe('0')
  // The one that ended 100 ms ago, and not the ones since.
  expect(lookAt(200, '20')).toBe('10')
  expect(lookAt(290, '29')).toBe('10')
  expect(lookAt(310, '31')).toBe('20')
})
