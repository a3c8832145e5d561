import { readdirSync, readFileSync } from 'node:fs'

const CLOCK_TICKS_PER_S = 100
/** Of /proc/<pid>/stat, behind the name: user and system time, its own and that of the children that have ended. */
const TIME_FIELDS = [11, 12, 13, 14] as const
const PARENT_FIELD = 1

/** CPU seconds of these processes so far; null where there is no /proc. */
export function cpuSeconds(pids: readonly number[]): number | null {
  if (process.platform !== 'linux') return null
  return pids.reduce((sum, pid) => {
    const fields = statOf(pid)
    return sum + TIME_FIELDS.reduce((ticks, at) => ticks + Number(fields?.[at] ?? 0), 0) / CLOCK_TICKS_PER_S
  }, 0)
}

/** The process and its children: PostgreSQL with its backends. Those that have ended count for their parent. */
export function withChildren(parent: number): number[] {
  if (process.platform !== 'linux') return [parent]
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.[PARENT_FIELD] === String(parent))
    .map(Number)
  return [parent, ...children]
}

/** Resident memory now and at its highest, in MB; null where there is no /proc. */
export function memoryMb(pid: number): { now: number; peak: number } | null {
  if (process.platform !== 'linux') return null
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (field: string) => Number(status.match(new RegExp(`^${field}:\\s+(\\d+)`, 'm'))?.[1] ?? 0) / 1024
  return { now: mb('VmRSS'), peak: mb('VmHWM') }
}

function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')
  } catch {
    return undefined // it ended meanwhile
  }
}
