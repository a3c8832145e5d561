import ipaddr from 'ipaddr.js'

/** Invalid keys allowed per address and window; further ones get 429. Valid keys are unaffected. */
const BAD_KEYS_MAX = 20
const WINDOW_MS = 60_000
/** Beyond this many addresses the oldest are evicted, so that memory stays bounded. */
const ADDRESSES_MAX = 10_000
/** IPv6 addresses are counted by this prefix, the smallest that one customer's network has. */
const IPV6_NETWORK_BITS = 64

export interface BadKeyLimit {
  isOver(address: string): boolean
  count(address: string): void
  /** Until the address may try again. */
  retryAfterS(address: string): number
}

/** Limits guesses of keys per address. A valid key is never refused. */
export function createBadKeyLimit(now: () => number = Date.now): BadKeyLimit {
  const windows = new Map<string, { endsAt: number; badKeys: number }>()
  const current = (network: string) => {
    const found = windows.get(network)
    return found && found.endsAt > now() ? found : undefined
  }
  return {
    // Usually there are no bad keys, and the address need not be parsed.
    isOver: (address) => windows.size > 0 && (current(networkOf(address))?.badKeys ?? 0) >= BAD_KEYS_MAX,
    count(address) {
      const network = networkOf(address)
      const known = current(network)
      if (known) known.badKeys += 1
      else {
        windows.delete(network)
        if (windows.size >= ADDRESSES_MAX) windows.delete(windows.keys().next().value as string)
        windows.set(network, { endsAt: now() + WINDOW_MS, badKeys: 1 })
      }
    },
    retryAfterS: (address) =>
      Math.max(1, Math.ceil(((current(networkOf(address))?.endsAt ?? 0) - now()) / 1000)),
  }
}

function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_NETWORK_BITS}`)}`
}
