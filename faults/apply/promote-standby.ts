import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { copyCluster } from '../system/copy-cluster.js'
import type { FaultSystem } from '../system/fault-system.js'
import { findFreePort, type Server, startServer } from '../system/start-server.js'
import type { FaultOutcome } from './apply-fault.js'

const STANDBY = 'standby'
const SYNC_MS_MAX = 60_000
const POLL_MS = 50

const requireStandby = `ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`
const isSynchronous = `SELECT FROM pg_stat_replication WHERE application_name = '${STANDBY}' AND sync_state = 'sync'`

let copies = 0

/**
 * A copy of the data directory follows the primary, every commit waits for it, then the primary is killed for good and
 * the copy takes its place. What was acknowledged must be there.
 */
export async function promoteStandby(system: FaultSystem): Promise<FaultOutcome> {
  const primary = system.server
  const direct = new pg.Pool({ connectionString: primary.url, max: 1 })
  direct.on('error', () => {})
  let standby: Server | undefined
  try {
    const cluster = await copyCluster(direct, primary.cluster, `${system.dataFolder}/copy-${++copies}`)
    standby = await startServer(cluster, await findFreePort(), {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=sagapost password=${cluster.password} application_name=${STANDBY}`,
    })
    await direct.query(requireStandby)
    await direct.query('SELECT pg_reload_conf()')
    const deadline = performance.now() + SYNC_MS_MAX
    while ((await direct.query(isSynchronous)).rowCount === 0) {
      if (performance.now() > deadline) throw new Error('the standby never became synchronous')
      await sleep(POLL_MS)
    }
    // Some commits under the rule that nothing is acknowledged before the standby has it.
    await sleep(500)
    const fromMs = Date.now()
    await primary.kill()
    await promote(standby)
    system.server = standby
    system.accepted.push(Date.now())
    system.crashes.push({ fromMs, toMs: Date.now() })
  } catch (error) {
    if (primary.hasEnded()) throw error
    // It has no standby of its own: no commit may wait for one.
    await direct.query('ALTER SYSTEM RESET synchronous_standby_names').catch(() => {})
    await direct.query('SELECT pg_reload_conf()').catch(() => {})
    await standby?.stop()
    return { ran: false, why: `no standby: ${(error as Error).message}` }
  } finally {
    await direct.end().catch(() => {})
  }
  await rm(primary.cluster.dataDir, { recursive: true, force: true })
  return { ran: true }
}

async function promote(standby: Server): Promise<void> {
  const client = new pg.Client({ connectionString: standby.url })
  client.on('error', () => {})
  await client.connect()
  await client.query('SELECT pg_promote(true, 60)')
  await client.end().catch(() => {})
}
