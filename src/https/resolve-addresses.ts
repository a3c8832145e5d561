import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { DeliveryFailure } from './delivery-errors.js'
import type { AddressGuard } from './guard-addresses.js'

export interface ResolvedAddress {
  address: string
  family: number
}

export type Lookup = (hostname: string) => Promise<ResolvedAddress[]>

/**
 * The system's resolver, so that /etc/hosts and search domains work. It runs on libuv's few threads, so the
 * same name is never looked up twice at once: a name whose servers do not answer holds one thread, not all.
 */
export function createSystemLookup(): Lookup {
  const underWay = new Map<string, Promise<ResolvedAddress[]>>()
  return (hostname) => {
    const existing = underWay.get(hostname)
    if (existing) return existing
    const started = systemLookup(hostname, { all: true, verbatim: true }).finally(() =>
      underWay.delete(hostname),
    )
    underWay.set(hostname, started)
    return started
  }
}

/**
 * All addresses of the host, each of them checked; what is returned here is what is dialled, so that no second
 * lookup can answer differently. One forbidden address among public ones refuses the host: a mixed answer is
 * what rebinding looks like, and an honest receiver has none.
 */
export async function resolveAddresses(
  host: string,
  guard: AddressGuard,
  lookup: Lookup,
): Promise<ResolvedAddress[]> {
  const family = isIP(host)
  const addresses = family ? [{ address: host, family }] : await lookUp(host, lookup)
  if (addresses.length === 0) throw new DeliveryFailure('dns_not_found')
  if (!addresses.every(({ address }) => guard.permits(address))) throw new DeliveryFailure('blocked_address')
  return addresses
}

async function lookUp(host: string, lookup: Lookup): Promise<ResolvedAddress[]> {
  try {
    return await lookup(host)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const notFound = code === 'ENOTFOUND' || code === 'ENODATA'
    throw new DeliveryFailure(notFound ? 'dns_not_found' : 'dns_failed', { cause: error })
  }
}
