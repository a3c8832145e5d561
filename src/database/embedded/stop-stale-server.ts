import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SagapostError } from '../../errors/index.js'
import { isRunning } from './identify-process.js'
import { readPostmasterFile } from './read-postmaster-file.js'
import { stopServer } from './stop-server.js'

const pollMs = 20

/**
 * Stops what a killed process and its killed watcher left running on this cluster: the postmaster, or backends that
 * have lost it, which would prevent a new server from starting. Only the owner of the data directory may call this.
 */
export async function stopStaleServer(clusterDir: string): Promise<void> {
  const file = await readPostmasterFile(clusterDir)
  if (!file) return
  const find = () => findServerProcesses(clusterDir, file.pid)
  const stopped = await stopServer({
    signal(name) {
      const pids = find()
      // The postmaster passes the signal on; without a postmaster each backend needs it.
      for (const pid of name !== 'SIGKILL' && pids.includes(file.pid) ? [file.pid] : pids)
        trySignal(pid, name)
    },
    async gone(limitMs) {
      for (let waitedMs = 0; find().length > 0; waitedMs += pollMs) {
        if (waitedMs >= limitMs) return false
        await sleep(pollMs)
      }
      return true
    },
  })
  if (stopped) return removeReusedPid(clusterDir)
  throw new SagapostError(
    'embedded_postgres_failed',
    `A PostgreSQL of an earlier run is still on ${clusterDir} and cannot be stopped: process ${find().join(', ')}`,
  )
}

/**
 * PostgreSQL handles a `postmaster.pid` without a process. But when the pid was reused by the same user, PostgreSQL
 * takes that process for a running server and refuses to start.
 */
async function removeReusedPid(clusterDir: string): Promise<void> {
  const file = await readPostmasterFile(clusterDir)
  if (file && isRunning(file.pid, undefined)) await rm(join(clusterDir, 'postmaster.pid'), { force: true })
}

/**
 * Finds the PostgreSQL processes of this cluster. A pid in a file may have been reused, so the process must be a
 * `postgres` whose working directory is this folder: all of them chdir() into it.
 */
export function findServerProcesses(clusterDir: string, postmasterPid: number): number[] {
  if (process.platform !== 'linux') return isPostmasterByPs(postmasterPid, clusterDir) ? [postmasterPid] : []
  const cluster = statSync(clusterDir)
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const cwd = statSync(`/proc/${pid}/cwd`)
      if (cwd.ino !== cluster.ino || cwd.dev !== cluster.dev) return false
      return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres'
    } catch {
      // The process has ended, is a zombie, or belongs to another user.
      return false
    }
  })
}

function isPostmasterByPs(pid: number, clusterDir: string): boolean {
  try {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return /\bpostgres\b/.test(command) && command.includes(` -D ${clusterDir} `)
  } catch {
    return false
  }
}

function trySignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended since it was found.
  }
}
