import { beforeAll, describe, expect, it } from 'vitest'
import { type EventRange, readWorkWindow } from '../../src/database/index.js'
import { createReportBatcher } from '../../src/worker/batch-reports.js'
import { type ClaimedJob, claimJobs } from '../../src/worker/claim-jobs.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertJob } from '../support/fixtures.js'
import { countLockWaiters } from '../support/lock-waiters.js'

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

describe('reports', () => {
  it('[J5] that come together share a statement, each with its own answer', async () => {
    const jobs = await claimedJobs(41)
    let flushes = 0
    const reports = createReportBatcher(database.as('job_worker'), () => {
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

  it('[J5] do not wait for one that stands at a locked row', async () => {
    const [stuck, free] = (await claimedJobs(2)) as [ClaimedJob, ClaimedJob]
    const reports = createReportBatcher(database.as('job_worker'), () => {})
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
