import ipaddr from 'ipaddr.js'

/** Bad keys from one address within the window; further ones are answered 429, good ones as always. */
const BAD_KEYS_MAX = 20
const WINDOW_MS = 60_000
/** Of more addresses the oldest are forgotten: memory stays bounded, whoever asks. */
const ADDRESSES_MAX = 10_000
/** One customer's network has at least this many bits of an IPv6 address to itself. */
const IPV6_NETWORK_BITS = 64

export interface BadKeyLimit {
  isOver(address: string): boolean
  count(address: string): void
  /** Until the address may try again. */
  retryAfterS(address: string): number
}

/** Counts refused keys by address, so that a client that tries keys is asked to wait. It never decides about a good key. */
export function createBadKeyLimit(now: () => number = Date.now): BadKeyLimit {
  const windows = new Map<string, { endsAt: number; badKeys: number }>()
  const current = (network: string) => {
    const found = windows.get(network)
    return found && found.endsAt > now() ? found : undefined
  }
  return {
    // Nearly always nobody has sent a bad key, and no address needs to be read.
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
