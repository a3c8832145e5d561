import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SagapostError } from '../../errors/index.js'
import { boundLog, findReason, readLogSince } from './bound-log.js'
import type { Cluster } from './initialise-cluster.js'
import { readPostmasterFile } from './read-postmaster-file.js'
import { clusterPath, spawnGuarded } from './spawn-guarded.js'

const portAttemptsMax = 5
const readyPollMs = 5
/** Replaying much WAL after a crash takes time. */
const startMsMax = 300_000

export interface ServerExit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface LaunchedServer {
  child: ChildProcess
  port: number
  exited: Promise<ServerExit>
}

/** Starts the server on a free port of 127.0.0.1 and waits until it takes connections. */
export async function launchServer(
  cluster: Cluster,
  logFile: string,
  settings: Record<string, string>,
  pickPort: () => Promise<number> = findFreePort,
): Promise<LaunchedServer> {
  boundLog(logFile)
  for (let attempt = 1; ; attempt += 1) {
    const port = await pickPort()
    const logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
    const server = spawnServer(cluster, logFile, settings, port)
    if (await becomesReady(cluster.clusterDir, server)) return server
    const log = readLogSince(logFile, logStart)
    // Another process took the port between our finding it free and the server's bind.
    if (/Address already in use/.test(log) && attempt < portAttemptsMax) continue
    throw new SagapostError(
      'embedded_postgres_failed',
      `The embedded PostgreSQL did not start: ${findReason(log)} (more in ${logFile})`,
    )
  }
}

function spawnServer(
  cluster: Cluster,
  logFile: string,
  settings: Record<string, string>,
  port: number,
): LaunchedServer {
  const all: Record<string, string> = {
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    cluster_name: 'sagapost',
    unix_socket_directories: '',
    ...settings,
    // The launcher relies on these.
    listen_addresses: '127.0.0.1',
    port: String(port),
    log_destination: 'stderr',
    logging_collector: 'off',
  }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(logFile, 'a', 0o600)
  const clusterFd = openSync(cluster.clusterDir, 'r')
  try {
    const child = spawnGuarded({
      command: cluster.binaries.postgres,
      args: ['-D', clusterPath(cluster.clusterDir), ...options],
      account: cluster.account,
      clusterFd,
      stdio: ['ignore', log, log],
      onOurDeath: 'interrupt',
    })
    const exited = once(child, 'exit').then(([code, signal]): ServerExit => ({ code, signal }))
    return { child, port, exited }
  } finally {
    closeSync(log)
    closeSync(clusterFd)
  }
}

/** Polls the server's status file: 5 ms apart costs nothing and needs no connection. */
async function becomesReady(clusterDir: string, { child, exited }: LaunchedServer): Promise<boolean> {
  let ended = false
  const end = exited.then(() => {
    ended = true
  })
  for (let waitedMs = 0; !ended; waitedMs += readyPollMs) {
    const file = await readPostmasterFile(clusterDir)
    if (file?.ready && file.pid === child.pid) return true
    if (waitedMs > startMsMax) child.kill('SIGQUIT')
    await Promise.race([end, sleep(readyPollMs)])
  }
  return false
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
