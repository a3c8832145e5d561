import { hostname } from 'node:os'
import { lookupError } from './ask-server.js'
import { bareName, parseHosts } from './parse-hosts.js'
import { parseResolvConf, type ResolvConf } from './parse-resolv-conf.js'
import { readWhenChanged } from './read-when-changed.js'
import type { ResolvedAddress } from './resolved-address.js'
import { type Lookup, startLookup } from './start-lookup.js'

/** Shorter answers are kept for so long all the same, longer ones no longer. */
const KEPT_MS_MIN = 1_000
const KEPT_MS_MAX = 300_000
/** A name without an address, or whose servers fail: its deliveries do not each wait for the same. */
const FAILURE_KEPT_MS = 3_000
const NAMES_KEPT_MAX = 10_000
/** Each has a socket. More than a worker has requests by default, so that dead names do not take the place of others. */
const LOOKUPS_MAX = 1_000

export interface NameResolverOptions {
  /** For one name, whatever it takes. */
  timeoutMs: number
  /** In the place of those of resolv.conf, with a port or without. */
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
  /** Ends the look-ups that are under way. */
  close(): void
}

interface KeptAnswer {
  addresses: Promise<readonly ResolvedAddress[]>
  /** Infinity while it is looked up: all who ask meanwhile share it. */
  untilMs: number
}

/**
 * What the C library does with `hosts: files dns`: /etc/hosts, then the servers and domains of /etc/resolv.conf, both
 * read again when they change. Answers are kept for their TTL.
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
    // Other servers may answer otherwise.
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
      // Put at the end; the one that was asked for the longest ago gives way.
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

/** RFC 6761: these names are loopback wherever they are looked up, and no server is asked for them. */
export function isLocalhost(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host)
}
