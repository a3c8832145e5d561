import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Link, openLink } from '../../../faults/system/open-link.js'
import { createRolePool, inRange, type WorkWindow } from '../../../src/database/index.js'
import { claim } from '../../../src/delivery/worker/claim-jobs.js'
import { release } from '../../../src/delivery/worker/release-jobs.js'
import { report } from '../../../src/delivery/worker/report-results.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertJob } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { delivered, useWorker } from './use-worker.js'

const database = useDatabase()
let link: Link
let pool: pg.Pool
let window: WorkWindow
const start = useWorker(() => ({ pool, window: () => window }))

beforeAll(async () => {
  window = await readWorkWindow(database.as('job_worker'))
  const url = new URL(database.url)
  const texts = [claim, release, report].map(textOf)
  link = await openLink(() => Number(new URL(database.url).port), texts)
  url.port = String(link.port)
  url.hostname = '127.0.0.1'
  pool = createRolePool({ databaseUrl: url.href, role: 'job_worker', connectionsMax: 4 })
})
afterAll(async () => {
  await pool.end()
  await link.close()
})

/** As it is sent for the fresh range. */
const textOf = (statement: string) => inRange(statement, window.fresh)

/** The next statement of this text commits, and its answer never arrives; `onLost` is called before anything else. */
function loseAnswerOf(statement: string, onLost = () => {}): () => boolean {
  let lost = false
  link.watch({
    text: textOf(statement),
    moment: 'after',
    count: 1,
    onReached: () => {
      lost = true
      onLost()
    },
  })
  return () => lost
}

async function newJob(): Promise<string> {
  return insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
}
async function row(id: string) {
  const { rows } = await database.pool.query('SELECT * FROM sagapost.webhook_delivery_jobs WHERE id = $1', [
    id,
  ])
  return rows[0]
}

// A lease of ten minutes: within the test's time none runs out.
const leaseMs = 600_000

describe('an answer that is lost after the commit', () => {
  it('[J4] of a claim: its jobs are free again long before their lease ends, and are sent once', async () => {
    const isLost = loseAnswerOf(claim)
    const ids = [await newJob(), await newJob()]
    const { sent, counts } = start({ leaseMs, respond: () => delivered })
    for (const id of ids) await expect.poll(async () => (await row(id)).status).toBe('Completed')
    expect(isLost()).toBe(true)
    expect([sent.length, counts.refused]).toEqual([2, 0])
    for (const id of ids) expect(await row(id)).toMatchObject({ lease_resets: 0 })
  })

  it('[J5] of a claim: what it took is left alone once another worker has it', async () => {
    const id = await newJob()
    const isLost = loseAnswerOf(claim, () => link.behave({ kind: 'black-hole', half: false }))
    const { sent } = start({ leaseMs, respond: () => delivered })
    await expect.poll(isLost).toBe(true)
    await expect.poll(async () => (await row(id)).status).toBe('Leased')
    await database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending' WHERE id = $1`, [
      id,
    ])
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs
       SET status = 'Leased', lease_token = gen_random_uuid(), worker_id = 'worker-b' WHERE id = $1`,
      [id],
    )
    const next = await newJob()
    link.behave({ kind: 'pass' })
    await expect.poll(async () => (await row(next)).status).toBe('Completed')
    expect(await row(id)).toMatchObject({ status: 'Leased', worker_id: 'worker-b' })
    expect(sent).toHaveLength(1)
  })

  it('[J5] of a report: the repeated report is accepted, since the result was written under its own lease', async () => {
    const isLost = loseAnswerOf(report)
    const id = await newJob()
    const { sent, counts, worker } = start({ leaseMs, respond: () => delivered })
    await expect.poll(async () => (await row(id)).status).toBe('Completed')
    await worker.stop()
    expect([isLost(), sent.length, counts.finished, counts.refused]).toEqual([true, 1, 1, 0])
  })

  it('[J5] of a report: a repeated report is refused after the lease was lost for good', async () => {
    const id = await newJob()
    const { sent, counts } = start({ leaseMs })
    await expect.poll(() => sent.length).toBe(1)
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs
       SET status = 'Failed', error_code = 'lease_expired', lease_resets = 1, finished_at = sagapost.now() WHERE id = $1`,
      [id],
    )
    sent[0]?.answer(delivered)
    await expect.poll(() => counts.refused).toBe(1)
    expect(await row(id)).toMatchObject({ status: 'Failed', error_code: 'lease_expired' })
  })

  it.each(['before', 'after'] as const)(
    '[J12] of a release, or the statement itself (cut %s it): the job is free, and sent once',
    async (moment) => {
      const id = await newJob()
      let cut = false
      link.watch({
        text: textOf(release),
        moment,
        count: 1,
        onReached: () => {
          cut = true
        },
      })
      let unread = 1
      const { sent, worker } = start({
        leaseMs,
        respond: () => delivered,
        readSecrets: async (ids) => {
          if (unread-- > 0) throw new Error('the secrets cannot be read')
          return new Map(ids.map((id) => [id, [{ scheme: 'v1', key: Buffer.alloc(32) }]]))
        },
      })
      await expect.poll(() => cut).toBe(true)
      await expect.poll(async () => (await row(id)).status).toBe('Completed')
      await worker.stop()
      expect(await row(id)).toMatchObject({ lease_resets: 0 })
      expect(sent).toHaveLength(1)
    },
  )

  it('[J4] of a claim when the worker stops: a stop gives its jobs back', async () => {
    const id = await newJob()
    const started = { worker: undefined as { stop(): Promise<void> } | undefined }
    let stopping: Promise<void> | undefined
    loseAnswerOf(claim, () => {
      stopping = started.worker?.stop()
    })
    started.worker = start({ leaseMs }).worker
    await expect.poll(() => stopping !== undefined).toBe(true)
    await stopping
    expect(await row(id)).toMatchObject({ status: 'Pending', lease_resets: 0 })
  })
})
