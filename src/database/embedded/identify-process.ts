import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const ended = 'ended'

/**
 * When a process started, as an opaque text: together with the pid it names one process for ever, while the
 * pid alone is given to another sooner or later. `ended` for a zombie, undefined when it cannot be told.
 */
export function readStartMark(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
      return started.trim() || undefined
    }
    // The name in parentheses may hold anything, even ') '. The fields after it: state, ..., 20th: start.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return ended
    // The start is counted from the boot, so it needs the boot's name beside it.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`
  } catch {
    return undefined
  }
}

/** Whether the process that once had this pid and start mark still runs; yes when that cannot be told. */
export function isRunning(pid: number, startMark: string | undefined): boolean {
  const mark = readStartMark(pid)
  if (mark !== undefined) return mark !== ended && (startMark === undefined || mark === startMark)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's, and hidden from us in /proc.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
