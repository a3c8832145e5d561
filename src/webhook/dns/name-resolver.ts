import { hostname } from 'node:os'
import { lookupError } from './ask-server.js'
import { bareName, parseHosts } from './parse-hosts.js'
import { parseResolvConf, type ResolvConf } from './parse-resolv-conf.js'
import { readWhenChanged } from './read-when-changed.js'
import type { ResolvedAddress } from './resolved-address.js'
import { type Lookup, startLookup } from './start-lookup.js'

/** Minimum time an answer is cached, even if its TTL is shorter; the maximum is below. */
const KEPT_MS_MIN = 1_000
const KEPT_MS_MAX = 300_000
/** How long a failure is cached, so that not every delivery to the name waits for it again. */
const FAILURE_KEPT_MS = 3_000
const NAMES_KEPT_MAX = 10_000
/**
 * Concurrent look-ups; each has a socket. More than a worker's default number of requests, so that dead names do not
 * displace others.
 */
const LOOKUPS_MAX = 1_000

export interface NameResolverOptions {
  /** Time limit for one name, over all servers and tries. */
  timeoutMs: number
  /** Replaces the servers of resolv.conf; the port is optional. */
  servers?: readonly string[]
  hostsFile?: string
  resolvFile?: string
  lookupsMax?: number
  nowMs?: () => number
}

/** Looks names up without libuv's threads, which the database's look-ups and the file system need. */
export interface NameResolver {
  /** Rejects with a code of node:dns. */
  resolve(host: string): Promise<readonly ResolvedAddress[]>
  /** Ends the look-ups in flight. */
  close(): void
}

interface KeptAnswer {
  addresses: Promise<readonly ResolvedAddress[]>
  /** Infinity during the look-up, which all callers share. */
  untilMs: number
}

/**
 * Resolves as the C library does with `hosts: files dns`: /etc/hosts, then the servers and domains of /etc/resolv.conf,
 * both read again when they change. Answers are cached for their TTL.
 */
export function createNameResolver({
  timeoutMs,
  servers,
  hostsFile = '/etc/hosts',
  resolvFile = '/etc/resolv.conf',
  lookupsMax = LOOKUPS_MAX,
  nowMs = () => performance.now(),
}: NameResolverOptions): NameResolver {
  const kept = new Map<string, KeptAnswer>()
  const underWay = new Set<Lookup>()
  const readHosts = readWhenChanged(hostsFile, parseHosts)
  const readResolvConf = readWhenChanged(resolvFile, (text): ResolvConf => {
    // Other servers may give other answers.
    kept.clear()
    const conf = parseResolvConf(text, hostname())
    return servers ? { ...conf, servers } : conf
  })

  function lookUp(name: string, conf: ResolvConf): KeptAnswer {
    const lookup = startLookup(name, conf, timeoutMs)
    underWay.add(lookup)
    const keepFor = (ms: number) => {
      underWay.delete(lookup)
      entry.untilMs = nowMs() + ms
    }
    const addresses = lookup.answer.then(
      (answer) => {
        keepFor(Math.min(KEPT_MS_MAX, Math.max(KEPT_MS_MIN, answer.ttlS * 1000)))
        return answer.addresses
      },
      (error) => {
        keepFor(FAILURE_KEPT_MS)
        throw error
      },
    )
    const entry: KeptAnswer = { addresses, untilMs: Number.POSITIVE_INFINITY }
    return entry
  }

  return {
    async resolve(host) {
      const name = bareName(host)
      const listed = readHosts().get(name)
      if (listed) return listed
      if (isLocalhost(name)) return loopback
      const conf = readResolvConf()
      const known = kept.get(host)
      if (known && nowMs() < known.untilMs) return known.addresses
      if (underWay.size >= lookupsMax) throw lookupError('EAI_AGAIN', 'too many names are being looked up')
      const entry = lookUp(host, conf)
      // Moved to the end; the least recently queried name is evicted.
      kept.delete(host)
      kept.set(host, entry)
      const [oldest] = kept.size > NAMES_KEPT_MAX ? kept.keys() : []
      if (oldest !== undefined) kept.delete(oldest)
      return entry.addresses
    },
    close() {
      for (const lookup of underWay) lookup.cancel()
    },
  }
}

const loopback: readonly ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** RFC 6761: these names are always loopback, and no server is queried for them. */
export function isLocalhost(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host)
}
