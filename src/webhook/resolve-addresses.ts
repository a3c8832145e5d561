import { isIP } from 'node:net'
import { DeliveryFailure } from './delivery-errors.js'
import type { ResolvedAddress } from './dns/index.js'
import type { AddressGuard } from './guard-addresses.js'

export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>

/**
 * All addresses of the host, each of them checked; what is returned here is what is dialled, so that no second
 * lookup can answer differently. One forbidden address among public ones refuses the host: a mixed answer is
 * what rebinding looks like, and an honest receiver has none. Kept answers are checked each time.
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
