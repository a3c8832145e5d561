import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { copyCluster } from '../../faults/system/copy-cluster.js'
import { findFreePort, startServer } from '../../faults/system/start-server.js'
import { createRolePool } from '../../src/database/index.js'
import { call, startTestApi } from '../http/api-server.js'
import { useOwnPostgres } from '../support/own-postgres.js'
import { runCli } from '../support/run-cli.js'

const postgres = useOwnPostgres({ disk: true })

async function startApi(url: string) {
  const api = await startTestApi(url)
  onTestFinished(() => api.stop())
  const ask = async (path: string) => (await call(api.url + path, 'GET', { key: null })).body
  return {
    readiness: () => ask('/readyz'),
    publish: async (payload: unknown = 1) => {
      const body = { type: 'order.placed', payload }
      const { status, body: answer } = await call(`${api.url}/v1/events`, 'POST', { body })
      return [status, answer.code]
    },
  }
}

const notReady = (code: string) => ({
  status: 'not_ready',
  obstacles: [{ code, detail: expect.any(String) }],
})

it('[O7] a hot standby is not ready, tells publishers and the doctor, and is ready once promoted', async () => {
  const cluster = await copyCluster(postgres.admin, postgres.cluster, join(postgres.folder, 'standby'))
  const standby = await startServer(cluster, await findFreePort(), {
    primary_conninfo: `host=127.0.0.1 port=${postgres.server.port} user=sagapost password=${cluster.password}`,
  })
  onTestFinished(() => standby.stop())
  const api = await startApi(standby.url)
  expect(await api.readiness()).toEqual(notReady('database_read_only'))
  expect(await api.publish()).toEqual([503, 'database_read_only'])
  const doctor = await runCli(['doctor'], { DATABASE_URL: standby.url })
  expect(doctor.stdout).toMatch(/^failing +writes +PostgreSQL is a standby .*\[database_read_only\]$/m)
  expect(doctor.code).toBe(1)

  const admin = new pg.Client({ connectionString: standby.url })
  await admin.connect()
  await admin.query('SELECT pg_promote(true, 60)')
  await admin.end()
  await expect.poll(api.readiness).toEqual({ status: 'ready' })
  expect(await api.publish()).toEqual([202, undefined])
})

it('[O7] a commit that waits for a missing standby: not ready, and every time-out frees its backend', async () => {
  const api = await startApi(postgres.server.url)
  expect(await api.readiness()).toEqual({ status: 'ready' })
  await postgres.set('synchronous_standby_names', 'gone')
  onTestFinished(() => postgres.set('synchronous_standby_names', ''))
  await expect.poll(api.readiness).toEqual(notReady('database_timed_out'))

  const pool = createRolePool({
    databaseUrl: postgres.server.url,
    role: 'schema_maintainer',
    connectionsMax: 3,
    queryTimeoutMs: 500,
  })
  onTestFinished(() => pool.end())
  const write = `SELECT pg_logical_emit_message(true, 'test', '')`
  const stalled = async () => {
    await pool.query(`SET synchronous_commit = on; ${write}`)
  }
  const outcomes = await Promise.allSettled([stalled(), stalled(), stalled()])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  const waiting = async () => {
    const { rows } = await postgres.admin.query(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%test%'`,
    )
    return rows[0].waiting
  }
  await expect.poll(waiting).toBe(0)

  const doctor = await runCli(['doctor'], { DATABASE_URL: postgres.server.url })
  expect(doctor.stdout).toMatch(
    /^failing +writes .*synchronous_standby_names is "gone".*\[database_timed_out\]$/m,
  )
  await postgres.set('synchronous_standby_names', '')
  await expect.poll(api.readiness).toEqual({ status: 'ready' })
})

it('[O7] logins that were made read-only are not ready, and publishers get the reason', async () => {
  for (const role of ['schema_maintainer', 'event_ingest_writer']) {
    await postgres.admin.query(`
      CREATE ROLE fenced_${role} LOGIN PASSWORD 'fenced' IN ROLE ${role};
      ALTER ROLE fenced_${role} SET role = ${role};
      ALTER ROLE fenced_${role} SET default_transaction_read_only = on`)
  }
  const url = `postgres://fenced_{role}:fenced@127.0.0.1:${postgres.server.port}/sagapost`
  const api = await startApi(url)
  expect(await api.readiness()).toEqual(notReady('database_read_only'))
  expect(await api.publish()).toEqual([503, 'database_read_only'])
  for (const role of ['schema_maintainer', 'event_ingest_writer']) {
    await postgres.admin.query(`ALTER ROLE fenced_${role} RESET default_transaction_read_only`)
  }
  await postgres.admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'fenced%'`,
  )
  await expect.poll(api.readiness).toEqual({ status: 'ready' })
})

it('[O7] a full disk: not ready, and publishers and the doctor report it', async ({ skip }) => {
  if (!postgres.hasDisk) skip('no tmpfs can be mounted here')
  const api = await startApi(postgres.server.url)
  expect(await api.readiness()).toEqual({ status: 'ready' })
  const file = join(postgres.folder, 'data', 'filler')
  fill(file)
  onTestFinished(() => rmSync(file, { force: true }))
  await expect.poll(api.readiness).toEqual(notReady('database_full'))
  // Too large for the pages that are there, and for any compression.
  expect(await api.publish(randomBytes(100_000).toString('base64'))).toEqual([503, 'database_full'])
  const doctor = await runCli(['doctor'], { DATABASE_URL: postgres.server.url })
  expect(doctor.stdout).toMatch(/^failing +writes .*No space left on device.*\[database_full\]$/m)
  rmSync(file)
  await expect.poll(api.readiness).toEqual({ status: 'ready' })
})

function fill(file: string): void {
  const block = Buffer.alloc(1_024 * 1_024)
  const filler = openSync(file, 'w')
  for (let size = block.length; size >= 4_096; ) {
    try {
      writeSync(filler, block, 0, size)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size /= 2
    }
  }
  closeSync(filler)
}
