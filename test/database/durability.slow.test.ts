import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { connect, createRolePool, migrate, startEmbeddedPostgres } from '../../src/database/index.js'
import { applyResults } from '../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../src/delivery/orchestrator/make-jobs.js'
import { claimJobs } from '../../src/delivery/worker/claim-jobs.js'
import { reportResults } from '../../src/delivery/worker/report-results.js'
import { insertDelivery, insertJob } from '../support/fixtures.js'
import { defaultRetryPolicy } from '../support/retry-policy.js'
import { wholeWindow } from '../support/whole-window.js'

it('[S22, J10] acknowledged events survive a kill of the server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-durable-'))
  const dataDir = join(folder, 'data')
  const first = await startEmbeddedPostgres({ dataDir })
  await migrate({ databaseUrl: first.url })
  const client = new pg.Client({ connectionString: first.url })
  client.on('error', () => {})
  await client.connect()
  const completed = await insertDelivery(client, 'Completed')
  const dead = await insertDelivery(client, 'DeadLettered')
  const job = await insertJob(client, await insertDelivery(client, 'InProgress'), 'Failed')
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  await client.end().catch(() => {})
  await first.stop()

  const second = await startEmbeddedPostgres({ dataDir })
  try {
    const again = await connect(second.url)
    const statusOf = async (table: string, id: string) =>
      (await again.query(`SELECT status FROM sagapost.${table} WHERE id = $1`, [id])).rows[0]?.status
    expect(await statusOf('webhook_delivery_sagas', completed.id)).toBe('Completed')
    expect(await statusOf('webhook_delivery_sagas', dead.id)).toBe('DeadLettered')
    expect(await statusOf('webhook_delivery_jobs', job)).toBe('Failed')
    expect(
      (await again.query('SELECT FROM sagapost.dead_letters WHERE saga_id = $1', [dead.id])).rowCount,
    ).toBe(1)
    await again.end()
  } finally {
    await second.stop()
    await rm(folder, { recursive: true })
  }
})

it('[S22, J10] reported and applied results survive a kill of the server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sagapost-durable-'))
  const dataDir = join(folder, 'data')
  const range = { from: '0', to: '1000000' }
  /** Nothing reaches the disk but what a commit waits for: the writer in the background comes too late for everything. */
  const settings = { wal_writer_delay: '10s', wal_writer_flush_after: '1GB' }
  const start = async () => {
    const server = await startEmbeddedPostgres({ dataDir, settings })
    const owner = new pg.Client({ connectionString: server.url })
    owner.on('error', () => {})
    await owner.connect()
    const pools = (['saga_orchestrator', 'job_worker'] as const).map((role) =>
      createRolePool({ databaseUrl: server.url, role, connectionsMax: 1 }),
    ) as [pg.Pool, pg.Pool]
    return { server, owner, orchestrator: pools[0], worker: pools[1] }
  }
  const killAfter = async (work: (system: Awaited<ReturnType<typeof start>>) => Promise<void>) => {
    const system = await start()
    const { server, owner, orchestrator, worker } = system
    try {
      await work(system)
    } finally {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
      await Promise.all([owner, orchestrator, worker].map((each) => each.end().catch(() => {})))
      await server.stop()
    }
  }

  let saga = ''
  await killAfter(async ({ server, owner, orchestrator, worker }) => {
    await migrate({ databaseUrl: server.url })
    saga = (await insertDelivery(owner)).id
    await makeJobs(orchestrator, { range, batchMax: 10, limit: 5 })
    const claim = { range, batchMax: 10, leaseMs: 600_000, workerId: 'w', except: [] }
    const { jobs } = await claimJobs(worker, claim)
    const report = {
      errorCode: null,
      responseStatus: 200,
      retryAfterS: null,
      durationMs: 5,
      responseExcerpt: null,
    }
    const reports = jobs.map(({ id, ...job }) => ({ ...job, ...report, jobId: id }))
    expect((await reportResults(worker, range, reports)).size).toBe(1)
  })
  await killAfter(async ({ owner, orchestrator }) => {
    const { rows } = await owner.query(
      'SELECT status FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1',
      [saga],
    )
    expect(rows).toEqual([{ status: 'Completed' }])
    const { results } = await applyResults(orchestrator, {
      batchMax: 10,
      policy: defaultRetryPolicy,
      window: wholeWindow,
    })
    expect(results).toHaveLength(1)
  })
  await killAfter(async ({ owner }) => {
    const { rows } = await owner.query('SELECT status FROM sagapost.webhook_delivery_sagas WHERE id = $1', [
      saga,
    ])
    expect(rows).toEqual([{ status: 'Completed' }])
  })
  await rm(folder, { recursive: true })
})
