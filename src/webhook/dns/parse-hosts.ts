import { isIP } from 'node:net'
import type { ResolvedAddress } from './resolved-address.js'

/** Keyed by name, in lower case. */
export type Hosts = ReadonlyMap<string, readonly ResolvedAddress[]>

/** Reads /etc/hosts, hosts(5): an address and its names on each line. A name on several lines has all their addresses. */
export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, ResolvedAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = wordsOf(line)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of new Set(names.map(bareName))) {
      const known = hosts.get(name)
      if (known) known.push({ address, family })
      else hosts.set(name, [{ address, family }])
    }
  }
  return hosts
}

function wordsOf(line: string): string[] {
  return line.replace(/#.*/, '').split(/\s+/).filter(Boolean)
}

/** The form in which names are compared: lower case, without the root's dot. */
export function bareName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
