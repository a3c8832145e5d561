import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const ended = 'ended'

/**
 * When a process started, as opaque text: together with the pid it identifies a process for ever, while a pid alone is
 * reused. `ended` for a zombie, undefined when unknown.
 */
export function readStartMark(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
      return started.trim() || undefined
    }
    // The name in parentheses may contain anything, even ') '. The fields after it: state, …, 20th: start.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return ended
    // The start time counts from the boot, so the boot's id is part of the mark.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`
  } catch {
    return undefined
  }
}

/** Whether the process with this pid and start mark still runs; true when that is unknown. */
export function isRunning(pid: number, startMark: string | undefined): boolean {
  const mark = readStartMark(pid)
  if (mark !== undefined) return mark !== ended && (startMark === undefined || mark === startMark)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process belongs to another user and is hidden in /proc.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
