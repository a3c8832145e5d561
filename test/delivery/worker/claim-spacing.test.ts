import { expect, it } from 'vitest'
import { createClaimSpacing } from '../../../src/delivery/worker/claim-spacing.js'

it('[J3] a busy worker does not claim a few jobs at a time, and delays no job for long', () => {
  const claims = createClaimSpacing(10)
  expect(claims.mayClaim(4, 0)).toBe(true)
  expect([claims.mayClaim(4, 10), claims.lookInMs(4, 10)]).toEqual([false, 40])
  expect(claims.mayClaim(5, 10)).toBe(true)
  expect([claims.mayClaim(1, 59), claims.lookInMs(1, 59)]).toEqual([false, 1])
  expect([claims.lookInMs(1, 61), claims.mayClaim(1, 61)]).toEqual([0, true])
})

it('[J3] without room nothing is claimed, and with enough of it no claim waits', () => {
  const claims = createClaimSpacing(10)
  expect([claims.mayClaim(0, 0), claims.lookInMs(0, 0)]).toEqual([false, Number.POSITIVE_INFINITY])
  expect(claims.lookInMs(20, 0)).toBe(Number.POSITIVE_INFINITY)
  expect([claims.mayClaim(20, 0), claims.mayClaim(20, 0)]).toEqual([true, true])
})

it('[J3] a worker with one slot claims whenever there is room', () => {
  const claims = createClaimSpacing(1)
  expect([claims.mayClaim(1, 0), claims.mayClaim(1, 0)]).toEqual([true, true])
})

it('[J3] a claim that passes over thousands and finds little is repeated later, the more they are', () => {
  const claims = createClaimSpacing(10)
  claims.foundFew(1_000, 0)
  expect(claims.lookInMs(20, 0)).toBe(Number.POSITIVE_INFINITY)
  expect([claims.mayClaim(20, 19), claims.lookInMs(20, 19)]).toEqual([false, 1])
  expect([claims.mayClaim(20, 20), claims.lookInMs(20, 20)]).toEqual([true, Number.POSITIVE_INFINITY])
})

it('[J3] while most claimed jobs are given back, few are claimed at a time, and the rest is not forgotten', () => {
  const claims = createClaimSpacing(10)
  expect([claims.brought(20, 9), claims.batchMax(20)]).toEqual([false, 20])
  expect([claims.brought(20, 10), claims.batchMax(20), claims.batchMax(4)]).toEqual([true, 10, 4])
  claims.foundFew(500, 0)
  expect(claims.lookInMs(20, 0)).toBe(10)
  expect([claims.brought(0, 0), claims.batchMax(20)]).toEqual([false, 20])
})
