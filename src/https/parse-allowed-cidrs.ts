import { isIP } from 'node:net'
import { SagapostError } from '../errors/index.js'

/** Reads SAGAPOST_ALLOWED_CIDRS, or another setting of its kind: ranges or addresses between commas or spaces. */
export function parseAllowedCidrs(text: string, setting = 'SAGAPOST_ALLOWED_CIDRS'): string[] {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((range) => parseCidr(range, setting))
}

function parseCidr(text: string, setting: string): string {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  // A mapped range would never match: mapped addresses count as the IPv4 ones that they stand for.
  if (family === 0 || rest.length > 0 || address.includes('%') || /^::ffff:/i.test(address))
    throw refusal(text, setting)
  const prefixMax = family === 4 ? 32 : 128
  if (prefix === undefined) return `${address}/${prefixMax}`
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > prefixMax) throw refusal(text, setting)
  return `${address}/${Number(prefix)}`
}

function refusal(text: string, setting: string): SagapostError {
  return new SagapostError(
    'config_invalid',
    `${setting}: "${text}" is not an address range such as 10.0.0.0/8 or fd00::/8`,
  )
}
