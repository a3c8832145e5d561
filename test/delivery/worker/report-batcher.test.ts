import type pg from 'pg'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EventRange } from '../../../src/database/index.js'
import { type ClaimedJob, claimJobs } from '../../../src/delivery/worker/claim-jobs.js'
import { createReportBatcher } from '../../../src/delivery/worker/report-batcher.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertJob } from '../../support/fixtures.js'
import { countLockWaiters } from '../../support/lock-waiters.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()
let range: EventRange

beforeAll(async () => {
  range = (await readWorkWindow(database.as('job_worker'))).fresh
})

async function claimedJobs(count: number): Promise<ClaimedJob[]> {
  for (let n = 0; n < count; n++) {
    await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
  }
  const options = { range, batchMax: count, leaseMs: 60_000, workerId: 'worker-a', except: [] }
  return (await claimJobs(database.as('job_worker'), options)).jobs
}

const delivered = ({ id, eventId, leaseToken }: ClaimedJob) => ({
  jobId: id,
  eventId,
  leaseToken,
  errorCode: null,
  responseStatus: 200,
  retryAfterS: null,
  durationMs: 5,
  responseExcerpt: 'ok',
})

/** The pool, with each statement held up until the test lets it go. */
function gated(pool: pg.Pool) {
  const gates: (() => void)[] = []
  const query = async (text: string, values: unknown[]) => {
    await new Promise<void>((resolve) => gates.push(resolve))
    return pool.query(text, values)
  }
  return { pool: { query } as unknown as pg.Pool, gates }
}

describe('reports', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('[J5] that arrive during a write go together in the next statement, unless the write takes long', async () => {
    const jobs = await claimedJobs(5)
    const { pool, gates } = gated(database.as('job_worker'))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const reports = createReportBatcher(pool, wholeWindow, () => {})
    const [first, second, third, fourth, fifth] = jobs.map((job) => () => reports.report(delivered(job)))
    const answers = [first?.()]
    vi.advanceTimersByTime(2)
    answers.push(second?.())
    vi.advanceTimersByTime(5)
    answers.push(third?.())
    vi.advanceTimersByTime(5)
    expect(gates).toHaveLength(1)
    gates[0]?.()
    expect(await answers[0]).toBe(true)
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(2)
    expect(gates).toHaveLength(2)
    // The second statement is blocked: after a while the next one is written beside it.
    answers.push(fourth?.(), fifth?.())
    vi.advanceTimersByTime(14)
    expect(gates).toHaveLength(2)
    vi.advanceTimersByTime(3)
    expect(gates).toHaveLength(3)
    for (const open of gates) open()
    expect(await Promise.all(answers)).toEqual([true, true, true, true, true])
  })

  it('[J5] that arrive together share a statement, each with its own answer', async () => {
    const jobs = await claimedJobs(41)
    let flushes = 0
    const reports = createReportBatcher(database.as('job_worker'), wholeWindow, () => {
      flushes += 1
    })
    const [first, ...others] = jobs as [ClaimedJob, ...ClaimedJob[]]
    const lost = { ...delivered(first), leaseToken: '00000000-0000-4000-8000-000000000000' }
    const early = reports.report(lost)
    const later = others.map((job) => reports.report(delivered(job)))
    expect(await early).toBe(false)
    expect(await Promise.all(later)).toEqual(later.map(() => true))
    expect(flushes).toBe(1)
  })

  it('[J5] do not wait for one that is blocked by a locked row', async () => {
    const [stuck, free] = (await claimedJobs(2)) as [ClaimedJob, ClaimedJob]
    const reports = createReportBatcher(database.as('job_worker'), wholeWindow, () => {})
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM sagapost.webhook_delivery_jobs WHERE id = $1 FOR UPDATE', [stuck.id])
      const waiting = reports.report(delivered(stuck))
      await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
      expect(await reports.report(delivered(free))).toBe(true)
      await holder.query('COMMIT')
      expect(await waiting).toBe(true)
    } finally {
      holder.release(true)
    }
  })
})
