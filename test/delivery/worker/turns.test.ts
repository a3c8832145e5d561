import { expect, it } from 'vitest'
import type { Standing } from '../../../src/delivery/breakers/standing.js'
import { createTurns } from '../../../src/delivery/worker/turns.js'

/** Lower case fails, upper case was never tried. */
function start() {
  const answering = new Set(['good'])
  const busy = new Set<string>()
  const standingOf = (id: string): Standing =>
    answering.has(id) ? 'answering' : id === id.toLowerCase() ? 'failing' : 'untried'
  return { answering, busy, turns: createTurns(standingOf, (id) => !busy.has(id)) }
}
const plenty = { failing: 100, untried: 100 }

it('[J3] waiting endpoints are left out of the claims until they have answered', () => {
  const { answering, turns } = start()
  expect([turns.waiting(), turns.lookInMs(0, plenty)]).toEqual([[], Number.POSITIVE_INFINITY])
  turns.add(['a', 'good', 'B'])
  expect(turns.waiting()).toEqual(['a', 'B'])
  answering.add('B')
  expect(turns.waiting()).toEqual(['a'])
})

it('[J3] each has its turn, untried ones first, and then goes to the end of the line', () => {
  const { busy, turns } = start()
  turns.add('abc')
  expect(turns.next('abcDE', { failing: 2, untried: 3 })).toEqual(['D', 'E'])
  expect(turns.next('abcDE', { failing: 2, untried: 2 })).toEqual(['D', 'E'])
  for (const id of 'DE') busy.add(id)
  expect(turns.next('abcDE', { failing: 2, untried: 2 })).toEqual(['a', 'b'])
  expect(turns.next('abcDE', { failing: 2, untried: 2 })).toEqual(['c', 'a'])
  expect(turns.next('abcDE', { failing: 0, untried: 2 })).toEqual([])
})

it('[J3] only endpoints found by a search have a turn; others keep their place', () => {
  const { turns } = start()
  turns.add('ab')
  expect(turns.next('b', { failing: 1, untried: 1 })).toEqual(['b'])
  expect(turns.waiting()).toEqual(['a', 'b'])
})

it('[J3] an endpoint for which nothing was found in a whole round leaves the line', () => {
  const { turns } = start()
  turns.add('ab')
  turns.wentRound()
  expect(turns.waiting()).toEqual(['a', 'b'])
  turns.next('a', plenty)
  turns.wentRound()
  expect(turns.waiting()).toEqual(['a'])
})

it('[J3] no search runs while there is no room for any endpoint in line', () => {
  const { turns } = start()
  turns.add('a')
  expect(turns.lookInMs(0, { failing: 0, untried: 5 })).toBe(Number.POSITIVE_INFINITY)
  turns.add('B')
  expect(turns.lookInMs(0, { failing: 0, untried: 5 })).toBe(0)
  expect(turns.lookInMs(0, { failing: 0, untried: 0 })).toBe(Number.POSITIVE_INFINITY)
})

it('[J3] searches are a quarter of a second apart', () => {
  const { turns } = start()
  turns.add('a')
  expect(turns.lookInMs(1_000, plenty)).toBe(0)
  turns.looked(1_000)
  expect([
    turns.lookInMs(1_000, plenty),
    turns.lookInMs(1_249, plenty),
    turns.lookInMs(1_250, plenty),
  ]).toEqual([250, 1, 0])
})
