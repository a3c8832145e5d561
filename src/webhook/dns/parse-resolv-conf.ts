import { isIP } from 'node:net'

/** The settings of /etc/resolv.conf. */
export interface ResolvConf {
  /** Empty means the system's default servers. */
  servers: readonly string[]
  /** Domains appended to a name. */
  search: readonly string[]
  /** A name with at least this many dots is tried as it is before the search domains. */
  ndots: number
  timeoutMs: number
  attempts: number
}

// The C library's limits, resolv.conf(5): larger values are reduced to the limit.
const SERVERS_MAX = 3
const NDOTS_MAX = 15
const TIMEOUT_S_MAX = 30
const ATTEMPTS_MAX = 5

/** Parses resolv.conf(5). Without `search` or `domain`, the domain of the machine's own name is searched. */
export function parseResolvConf(text: string, hostname: string): ResolvConf {
  const servers: string[] = []
  let search = [hostname.split('.').slice(1).join('.')].filter(Boolean)
  const options = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, '')
      .split(/\s+/)
      .filter(Boolean)
    if (keyword === 'nameserver' && isIP(values[0] ?? '')) servers.push(values[0] as string)
    // The last of these lines wins.
    if (keyword === 'domain') search = values.slice(0, 1)
    if (keyword === 'search') search = values
    if (keyword === 'options') {
      for (const value of values) {
        const [, name, number] = /^([a-z-]+):(\d+)$/.exec(value) ?? []
        if (name) options.set(name, Number(number))
      }
    }
  }
  const option = (name: string, otherwise: number, min: number, max: number) =>
    Math.min(max, Math.max(min, options.get(name) ?? otherwise))
  return {
    servers: servers.slice(0, SERVERS_MAX),
    search: search.map((domain) => domain.replace(/\.$/, '')).filter(Boolean),
    ndots: option('ndots', 1, 0, NDOTS_MAX),
    timeoutMs: option('timeout', 5, 1, TIMEOUT_S_MAX) * 1000,
    attempts: option('attempts', 2, 1, ATTEMPTS_MAX),
  }
}
