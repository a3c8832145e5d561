import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { SagapostError } from '../errors/index.js'

/**
 * Parses SAGAPOST_ALLOWED_CIDRS, or another setting of its kind: ranges or addresses, separated by commas or spaces.
 */
export function parseAllowedCidrs(text: string, setting = 'SAGAPOST_ALLOWED_CIDRS'): string[] {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((range) => {
      const { cidr, refusal } = parseCidr(range)
      if (refusal !== undefined)
        throw new SagapostError('config_invalid', `${setting}: "${range}" ${refusal}`)
      return cidr
    })
}

const NO_RANGE = { refusal: 'is not an address range such as 10.0.0.0/8 or fd00::/8' } as const

function parseCidr(
  text: string,
): { cidr: string; refusal?: undefined } | { cidr?: undefined; refusal: string } {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  // A mapped range would never match, since mapped addresses are treated as their IPv4 addresses.
  if (family === 0 || rest.length > 0 || address.includes('%') || /^::ffff:/i.test(address)) {
    return NO_RANGE
  }
  const prefixMax = family === 4 ? 32 : 128
  if (prefix === undefined) return { cidr: `${address}/${prefixMax}` }
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > prefixMax) return NO_RANGE
  const network = networkOf(address, Number(prefix))
  if (network === undefined) return { cidr: `${address}/${Number(prefix)}` }
  return {
    refusal: `does not begin at its own prefix: write ${network}/${prefix} for the range, or ${address} for the address`,
  }
}

/**
 * The network's own address when the given one differs, as in 10.0.0.0/0: a typing error for 10.0.0.0/8 that would
 * permit everything. 0.0.0.0/0 is explicit and accepted.
 */
function networkOf(address: string, prefix: number): string | undefined {
  const { IPv4, IPv6 } = ipaddr
  const cidr = `${address}/${prefix}`
  const network = isIP(address) === 4 ? IPv4.networkAddressFromCIDR(cidr) : IPv6.networkAddressFromCIDR(cidr)
  const isItself = network.toNormalizedString() === ipaddr.parse(address).toNormalizedString()
  return isItself ? undefined : network.toString()
}
