import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/** Decides whether requests may be sent to an address. */
export interface AddressGuard {
  permits(address: string): boolean
}

// The IANA special-purpose registries (RFC 6890 and later), and multicast. Of what a registry calls globally
// reachable inside these ranges (anycast relays, AS112) nothing receives webhooks.
const specialIpv4 = ranges([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** All of the IANA global unicast allocation; addresses outside are special or unassigned. */
const globalIpv6 = ranges(['2000::/3'])

const specialIpv6 = ranges([
  '2001::/23', // protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32',
  '2002::/16', // 6to4: carries an IPv4 address
  '2620:4f:8000::/48',
  '3ffe::/16',
  '3fff::/20',
])

/** The well-known NAT64 prefix: an operator behind NAT64 lists it, and the IPv4 address inside still counts. */
const nat64 = ranges(['64:ff9b::/96'])

/**
 * Addresses where clouds give credentials to any process that asks. Only an entry for the exact address allows them,
 * never a range. All of link-local is included: most metadata services are there, and no receiver is. Azure's is a
 * public address.
 */
const metadataServices = ranges([
  '169.254.0.0/16', // 169.254.169.254 nearly everywhere; 169.254.170.2 and .23 in ECS and EKS
  '168.63.129.16/32', // Azure
  '100.100.100.200/32', // Alibaba
  '192.0.0.192/32', // Oracle
  'fe80::/10', // OpenStack
  'fd00:ec2::/32', // AWS
  'fd20:ce::254/128', // Google
  'fd00:c1::a9fe:a9fe/128', // Oracle
  'fd00:42::42/128', // Scaleway
  'fd00:a9fe:a9fe::1/128', // Akamai
  'fd00:100::100:200/128', // Alibaba
])

/** Permits public unicast addresses and the ranges that an operator lists. */
export function createAddressGuard(allowedCidrs: readonly string[]): AddressGuard {
  const allowed = ranges(allowedCidrs)
  const named = allowed.filter(([network, prefix]) => prefix === network.toByteArray().length * 8)
  const servesMetadata = (address: Address) =>
    contains(metadataServices, address) && !contains(named, address)

  function permits(address: Address): boolean {
    if (contains(named, address)) return true
    if ([address, ...listEmbedded(address)].some(servesMetadata)) return false
    if (contains(allowed, address)) return !contains(nat64, address) || listEmbedded(address).every(permits)
    if (address.kind() === 'ipv4') return !contains(specialIpv4, address)
    return contains(globalIpv6, address) && !contains(specialIpv6, address)
  }

  return {
    // Text that is not an address is never permitted.
    permits: (text) => isIP(text) !== 0 && permits(parseAddress(text)),
  }
}

/** `process` converts an IPv4-mapped address, ::ffff:1.2.3.4, to its IPv4 address. */
function parseAddress(text: string): Address {
  if (!text.includes(':')) return ipaddr.process(text)
  // ipaddr.js mistakes ::1.2.3.4 for a mapped address; in hexadecimal it cannot.
  const hexadecimal = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const pair = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16)
    return `${pair(a, b)}:${pair(c, d)}`
  })
  return ipaddr.process(hexadecimal)
}

const LAST_BYTES = [12, 13, 14, 15]

/** Prefixes that embed an IPv4 address, and the positions of its bytes; Teredo inverts them. */
const embeddings: readonly { prefix: Range[]; bytes: readonly number[]; inverted?: true }[] = [
  { prefix: ranges(['::/96', '::ffff:0:0:0/96']), bytes: LAST_BYTES },
  { prefix: nat64, bytes: LAST_BYTES },
  { prefix: ranges(['2001::/32']), bytes: LAST_BYTES, inverted: true },
  { prefix: ranges(['2002::/16']), bytes: [2, 3, 4, 5] },
  // An operator's own NAT64 (RFC 8215), in the lengths that fit (RFC 6052).
  ...[LAST_BYTES, [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12]].map((bytes) => ({
    prefix: ranges(['64:ff9b:1::/48']),
    bytes,
  })),
]

function listEmbedded(address: Address): ipaddr.IPv4[] {
  if (address.kind() === 'ipv4') return []
  const all = address.toByteArray()
  return embeddings
    .filter(({ prefix }) => contains(prefix, address))
    .map(
      ({ bytes, inverted }) =>
        new ipaddr.IPv4(bytes.map((place) => (all[place] ?? 0) ^ (inverted ? 0xff : 0))),
    )
}

function ranges(cidrs: readonly string[]): Range[] {
  return cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
}

function contains(list: readonly Range[], address: Address): boolean {
  return list.some(([network, prefix]) => network.kind() === address.kind() && address.match(network, prefix))
}
