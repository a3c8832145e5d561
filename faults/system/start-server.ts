import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { clusterPath, spawnGuarded } from '../../src/database/embedded/spawn-guarded.js'
import { type FaultCluster, urlOf } from './make-cluster.js'

const READY_POLL_MS = 20
const START_MS_MAX = 180_000
const STOP_MS_MAX = 20_000

/** Small enough that WAL is recycled within a schedule, and a standby can always catch up. */
const settings: Record<string, string> = {
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  max_wal_size: '256MB',
  wal_keep_size: '256MB',
}

export interface Server {
  cluster: FaultCluster
  url: string
  port: number
  pid: number
  /** Wall clock, when it took its first connection. */
  acceptedAtMs: number
  hasEnded(): boolean
  /** `pg_ctl stop -m immediate`: no checkpoint, nothing is said to anybody. */
  crash(): Promise<void>
  /** SIGKILL to the postmaster and all its processes at once. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** A PostgreSQL that is ours to break. It never outlives this process. */
export async function startServer(
  cluster: FaultCluster,
  port: number,
  more: Record<string, string> = {},
): Promise<Server> {
  const options = Object.entries({ ...settings, ...more, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const log = openSync(cluster.logFile, 'a', 0o600)
  const clusterFd = openSync(cluster.clusterDir, 'r')
  const child = spawnGuarded({
    command: cluster.binaries.postgres,
    args: ['-D', clusterPath(cluster.clusterDir), ...options],
    account: cluster.account,
    clusterFd,
    stdio: ['ignore', log, log],
    onOurDeath: 'interrupt',
  })
  closeSync(log)
  closeSync(clusterFd)
  let ended = false
  const exited = once(child, 'exit').then(() => {
    ended = true
  })
  const pid = child.pid as number
  const end = async (signal: NodeJS.Signals) => {
    if (!ended) child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    await exited.finally(() => clearTimeout(timer))
  }
  const url = urlOf(cluster, port)
  const server: Server = {
    cluster,
    url,
    port,
    pid,
    acceptedAtMs: 0,
    hasEnded: () => ended,
    crash: () => end('SIGQUIT'),
    async kill() {
      // It leads a group of its own, in which all its processes are.
      if (!ended) process.kill(-pid, 'SIGKILL')
      await exited
    },
    stop: () => end('SIGINT'),
  }
  server.acceptedAtMs = await untilAccepting(server)
  return server
}

/** When it took a connection, by the wall clock. Throws when it ends, or takes too long. */
export async function untilAccepting(server: Pick<Server, 'url' | 'hasEnded'>): Promise<number> {
  const deadline = performance.now() + START_MS_MAX
  for (;;) {
    const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('SELECT 1')
      return Date.now()
    } catch (error) {
      if (server.hasEnded()) throw new Error('PostgreSQL ended while it started', { cause: error })
      if (performance.now() > deadline) throw new Error('PostgreSQL did not start in time', { cause: error })
      await sleep(READY_POLL_MS)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
