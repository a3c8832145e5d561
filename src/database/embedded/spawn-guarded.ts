import { type ChildProcess, type IOType, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Account } from './choose-account.js'

/**
 * Starts a watcher, then becomes the command itself, so that the child's pid is the command's. The watcher blocks on the
 * lifeline (fd 4), of which only we hold the other end: a line means that the command has ended, the end of the stream that
 * we have died. Why it is not a child of the postmaster: docs/internals/embedded-postgres.md#stopping.
 */
const guardScript = `
signal=$1 target=$2$$
shift 2
( ( exec </dev/null >/dev/null 2>&1 3<&-; read -r _ <&4 || kill -s "$signal" -- "$target" ) & )
exec "$@" 4<&-
`

export interface GuardedCommand {
  command: string
  args: string[]
  account: Account | undefined
  /** The open data directory; the command sees it as fd 3, which is `clusterPath`. */
  clusterFd: number
  stdio: [IOType | number, IOType | number, IOType | number]
  /** What the command gets when this process dies: INT to it alone, or KILL to it and all its children. */
  onOurDeath: 'interrupt' | 'kill-group'
}

/**
 * The path under which a started command sees the data directory. The magic link needs no permission on the folders
 * above it, so a cluster below /root works for another user and /root keeps its mode.
 */
export function clusterPath(clusterDir: string): string {
  return process.platform === 'linux' ? '/proc/self/fd/3' : clusterDir
}

/** Runs a PostgreSQL program in its own session, out of reach of Ctrl-C, that cannot outlive this process. */
export function spawnGuarded(guarded: GuardedCommand): ChildProcess {
  const target = guarded.onOurDeath === 'interrupt' ? ['INT', ''] : ['KILL', '-']
  const child = spawn('/bin/sh', ['-c', guardScript, 'sh', ...target, guarded.command, ...guarded.args], {
    ...guarded.account,
    // The other user may have no access to our working directory.
    cwd: '/',
    detached: true,
    env: cleanEnvironment,
    stdio: [...guarded.stdio, guarded.clusterFd, 'pipe'],
  })
  const lifeline = child.stdio[4] as Socket
  // The watcher may already be gone.
  lifeline.on('error', () => undefined)
  child.once('exit', () => lifeline.end('\n'))
  return child
}

/** Keeps out PGCLIENTENCODING and the like, which would change the server's settings, and our secrets. */
export const cleanEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
