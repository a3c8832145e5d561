import { isIP } from 'node:net'
import { DeliveryFailure } from './delivery-errors.js'
import type { ResolvedAddress } from './dns/index.js'
import type { AddressGuard } from './guard-addresses.js'

export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>

/**
 * Returns all addresses of the host after checking each; connections use exactly these, so no second lookup can answer
 * differently. One forbidden address refuses the whole host: a mixed answer looks like DNS rebinding, and no legitimate
 * receiver has one. Cached answers are checked each time.
 */
export async function resolveAddresses(
  host: string,
  guard: AddressGuard,
  lookup: Lookup,
): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host)
  const addresses = family ? [{ address: host, family }] : await lookUp(host, lookup)
  if (addresses.length === 0) throw new DeliveryFailure('dns_not_found')
  if (!addresses.every(({ address }) => guard.permits(address))) throw new DeliveryFailure('blocked_address')
  return addresses
}

async function lookUp(host: string, lookup: Lookup): Promise<readonly ResolvedAddress[]> {
  try {
    return await lookup(host)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const notFound = code === 'ENOTFOUND' || code === 'ENODATA'
    throw new DeliveryFailure(notFound ? 'dns_not_found' : 'dns_failed', { cause: error })
  }
}
