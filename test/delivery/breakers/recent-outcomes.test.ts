import { describe, expect, it } from 'vitest'
import { createRecentOutcomes } from '../../../src/delivery/breakers/recent-outcomes.js'

const limits = { outcomes: 10, failures: 9, withinMs: 1_000 }

/** `x` is a failure, `.` a success, one each `everyMs`; a `!` follows where it is too much. */
function add(outcomes: string, everyMs = 1): string {
  const recent = createRecentOutcomes(limits)
  return [...outcomes]
    .map((outcome, n) => outcome + (recent.add('1', outcome === 'x', n * everyMs) ? '!' : ''))
    .join('')
}

describe('the last outcomes of an endpoint', () => {
  it('[J7] trip the breaker only with enough failures among enough outcomes', () => {
    expect(add('xxxxxxxxxx')).toBe('xxxxxxxxxx!')
    expect(add('xxxx.xxxxx')).toBe('xxxx.xxxxx!')
    expect(add('xxxx.xx.xxxx')).toBe('xxxx.xx.xxxx')
    expect(add('xxxxxxxxx')).toBe('xxxxxxxxx')
  })

  it('[J7] count from the first failure on; the oldest is dropped when another arrives', () => {
    expect(add(`${'.'.repeat(50)}xxxxxxxxxx`)).toBe(`${'.'.repeat(50)}xxxxxxxxxx!`)
    expect(add('x..xxxxxxxx')).toBe('x..xxxxxxxx')
    expect(add('x..xxxxxxxxx')).toBe('x..xxxxxxxxx!')
    expect(add(`x${'.'.repeat(10)}xxxxxxxxxx`)).toBe(`x${'.'.repeat(10)}xxxxxxxxxx!`)
  })

  it('[J7] must all lie within a short time', () => {
    expect(add('xxxxxxxxxx', 111)).toBe('xxxxxxxxxx!')
    expect(add('xxxxxxxxxxx', 112)).toBe('xxxxxxxxxxx')
  })

  it('[J7] tell whether most of them are failures, until they expire', () => {
    const recent = createRecentOutcomes(limits)
    expect(recent.isMostlyFailing('1')).toBe(false)
    for (const failed of [true, false, true]) recent.add('1', failed, 0)
    expect(recent.isMostlyFailing('1')).toBe(true)
    recent.forgetOld(1_000)
    expect(recent.isMostlyFailing('1')).toBe(true)
    recent.forgetOld(1_001)
    expect(recent.isMostlyFailing('1')).toBe(false)
    for (const failed of [true, true, false, false]) recent.add('2', failed, 0)
    expect(recent.isMostlyFailing('2')).toBe(false)
    recent.add('2', true, 0)
    recent.forget('2')
    expect(recent.isMostlyFailing('2')).toBe(false)
  })
})
