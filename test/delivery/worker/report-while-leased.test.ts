import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JobReport } from '../../../src/delivery/worker/report-results.js'
import { reportWhileLeased } from '../../../src/delivery/worker/report-while-leased.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const report: JobReport = {
  jobId: '1',
  eventId: '2',
  leaseToken: '00000000-0000-4000-8000-000000000000',
  errorCode: null,
  responseStatus: 200,
  retryAfterS: null,
  durationMs: 5,
  responseExcerpt: null,
}

/** A database that fails a number of tries; records each query and its time. */
function awayFor(tries: number, accepted = true) {
  const startedAtMs = performance.now()
  const atMs: number[] = []
  const reported: JobReport[] = []
  return {
    atMs,
    reported,
    report: async (asked: JobReport) => {
      atMs.push(performance.now() - startedAtMs)
      reported.push(asked)
      if (atMs.length <= tries) throw new Error(`try ${atMs.length}`)
      return accepted
    },
  }
}

describe('a report', () => {
  it('[J5] is retried, less and less often, until it has committed', async () => {
    const database = awayFor(7)
    const accepted = reportWhileLeased(database, report, performance.now() + 60_000)
    await vi.runAllTimersAsync()
    expect(await accepted).toBe(true)
    expect(database.atMs).toEqual([0, 100, 300, 700, 1500, 3100, 5100, 7100])
    expect(new Set(database.reported)).toEqual(new Set([report]))
  })

  it('[J5] that is refused is not retried', async () => {
    const database = awayFor(0, false)
    expect(await reportWhileLeased(database, report, performance.now() + 60_000)).toBe(false)
    expect(database.atMs).toEqual([0])
  })

  it('[J5] is abandoned with the last error when the lease would end before the next try', async () => {
    const database = awayFor(100)
    const outcome = reportWhileLeased(database, report, performance.now() + 1_000).catch(
      (error: Error) => error.message,
    )
    await vi.runAllTimersAsync()
    expect(await outcome).toBe('try 4')
    expect(database.atMs).toEqual([0, 100, 300, 700])
  })
})
