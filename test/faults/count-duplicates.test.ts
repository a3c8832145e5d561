import { expect, it } from 'vitest'
import { type AttemptEvidence, claimsTakenBack } from '../../faults/check/count-duplicates.js'
import { LEASE_MS } from '../../faults/schedule/plan-schedule.js'

const crash = { fromMs: 100_000, toMs: 100_500 }
const evidence = (change: Partial<AttemptEvidence>): AttemptEvidence => ({
  arrivals: new Map([['a', [100_200, 104_000]]]),
  unreported: new Map([['a', 1]]),
  workersKilled: [],
  crashes: [crash],
  ...change,
})

it('[J5] a crash takes a claim back when its request came then, and its report was refused', () => {
  expect(claimsTakenBack(evidence({}), 'a')).toBe(1)
  expect(claimsTakenBack(evidence({ unreported: new Map([['a', 7]]) }), 'a')).toBe(1)
})

it('[J5] no other repeated request is excused', () => {
  expect(claimsTakenBack(evidence({}), 'b')).toBe(0)
  expect(claimsTakenBack(evidence({ crashes: [] }), 'a')).toBe(0)
  expect(claimsTakenBack(evidence({ unreported: new Map() }), 'a')).toBe(0)
  const late = new Map([['a', [crash.toMs + LEASE_MS + 1]]])
  expect(claimsTakenBack(evidence({ arrivals: late }), 'a')).toBe(0)
})

it('[J5] the report of a worker that was killed since is unknown', () => {
  const unreported = new Map<string, number>()
  expect(claimsTakenBack(evidence({ unreported, workersKilled: [101_000] }), 'a')).toBe(1)
  expect(claimsTakenBack(evidence({ unreported, workersKilled: [120_000] }), 'a')).toBe(0)
})
