import { expect, it } from 'vitest'
import { spaceClaims } from '../../src/worker/space-claims.js'

it('[J3] a busy worker does not claim by the handful, and lets nobody wait for long', () => {
  const claims = spaceClaims(10)
  expect(claims.mayClaim(4, 0)).toBe(true)
  expect([claims.mayClaim(4, 10), claims.lookInMs(4, 10)]).toEqual([false, 40])
  expect(claims.mayClaim(5, 10)).toBe(true)
  expect([claims.mayClaim(1, 59), claims.lookInMs(1, 59)]).toEqual([false, 1])
  expect([claims.lookInMs(1, 61), claims.mayClaim(1, 61)]).toEqual([0, true])
})

it('[J3] without room nothing is claimed, and with enough of it nothing is waited for', () => {
  const claims = spaceClaims(10)
  expect([claims.mayClaim(0, 0), claims.lookInMs(0, 0)]).toEqual([false, Number.POSITIVE_INFINITY])
  expect(claims.lookInMs(20, 0)).toBe(Number.POSITIVE_INFINITY)
  expect([claims.mayClaim(20, 0), claims.mayClaim(20, 0)]).toEqual([true, true])
})

it('[J3] a worker with one slot claims whenever there is room', () => {
  const claims = spaceClaims(1)
  expect([claims.mayClaim(1, 0), claims.mayClaim(1, 0)]).toEqual([true, true])
})
