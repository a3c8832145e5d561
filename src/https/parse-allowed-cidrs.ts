import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { SagapostError } from '../errors/index.js'

/** Reads SAGAPOST_ALLOWED_CIDRS: ranges or single addresses between commas or spaces. */
export function parseAllowedCidrs(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(parseCidr)
}

function parseCidr(text: string): string {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  // A mapped range would never match: mapped addresses count as the IPv4 ones that they stand for.
  if (family === 0 || rest.length > 0 || address.includes('%') || /^::ffff:/i.test(address)) {
    throw invalid(`"${text}" is not an address range such as 10.0.0.0/8 or fd00::/8`)
  }
  const prefixMax = family === 4 ? 32 : 128
  if (prefix === undefined) return `${address}/${prefixMax}`
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > prefixMax) {
    throw invalid(`"${text}" is not an address range such as 10.0.0.0/8 or fd00::/8`)
  }
  refuseHostBits(text, address, Number(prefix))
  return `${address}/${Number(prefix)}`
}

/** 10.0.0.0/0 is a typing error for 10.0.0.0/8 and would open everything. 0.0.0.0/0 says so itself and is accepted. */
function refuseHostBits(text: string, address: string, prefix: number): void {
  const { IPv4, IPv6 } = ipaddr
  const cidr = `${address}/${prefix}`
  const network = isIP(address) === 4 ? IPv4.networkAddressFromCIDR(cidr) : IPv6.networkAddressFromCIDR(cidr)
  if (network.toNormalizedString() === ipaddr.parse(address).toNormalizedString()) return
  throw invalid(
    `"${text}" does not begin at its own prefix: write ${network}/${prefix} for the range, or ${address} for the address`,
  )
}

function invalid(message: string): SagapostError {
  return new SagapostError('config_invalid', `SAGAPOST_ALLOWED_CIDRS: ${message}`)
}
