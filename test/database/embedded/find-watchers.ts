import { readdirSync, readFileSync } from 'node:fs'

/** The shells that watch over a server: in its session, but no `postgres`. */
export function findWatchers(postmasterPid: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(session) === postmasterPid && state !== 'Z' && !stat.includes('(postgres)')
    } catch {
      return false
    }
  })
}
