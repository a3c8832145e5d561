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
  /** The open data directory; the command sees it as fd 3, that is as `clusterPath`. */
  clusterFd: number
  stdio: [IOType | number, IOType | number, IOType | number]
  /** What the command gets when this process dies: INT to it alone, or KILL to it and all its children. */
  onOurDeath: 'interrupt' | 'kill-group'
}

/**
 * How a command started here names the data directory. Through the magic link it needs no permission on
 * the folders above, so a cluster below /root works for another user and /root keeps its mode.
 */
export function clusterPath(clusterDir: string): string {
  return process.platform === 'linux' ? '/proc/self/fd/3' : clusterDir
}

/** Runs a PostgreSQL program in a session of its own, out of Ctrl-C's reach, that cannot outlive us. */
export function spawnGuarded(guarded: GuardedCommand): ChildProcess {
  const target = guarded.onOurDeath === 'interrupt' ? ['INT', ''] : ['KILL', '-']
  const child = spawn('/bin/sh', ['-c', guardScript, 'sh', ...target, guarded.command, ...guarded.args], {
    ...guarded.account,
    // Our own folder may be closed to the other user.
    cwd: '/',
    detached: true,
    env: cleanEnvironment,
    stdio: [...guarded.stdio, guarded.clusterFd, 'pipe'],
  })
  const lifeline = child.stdio[4] as Socket
  // The watcher may be gone before we say goodbye to it.
  lifeline.on('error', () => undefined)
  child.once('exit', () => lifeline.end('\n'))
  return child
}

/** PGCLIENTENCODING and the like would change the server's settings; our secrets are not its business. */
export const cleanEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
