import type { RecordWithTtl } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import type { ResolvedAddress } from './resolved-address.js'

export interface Answer {
  addresses: readonly ResolvedAddress[]
  ttlS: number
}

/** How long the second family's answer is waited for when the first one's is there: some servers drop the question. */
const SECOND_FAMILY_MS = 500

/** Of each family; an answer by TCP may have thousands, all of which would be kept. */
const ADDRESSES_MAX = 32

export interface Asked {
  /** Rejects with a code of node:dns; ENOTFOUND and ENODATA are the server's word that there is no address. */
  answer: Promise<Answer>
  cancel(): void
}

/**
 * Asks one server once for the addresses of one name, both families at the same time. c-ares does it on the event loop,
 * without a thread. Each time by a resolver of its own: an older one gives up a slow name sooner the quicker it was
 * answered before, and its `cancel` would end other names' questions.
 */
export function askServer(server: string, name: string, timeoutMs: number): Asked {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs), tries: 1 })
  resolver.setServers([server])
  return { answer: askBoth(resolver, name, timeoutMs), cancel: () => resolver.cancel() }
}

async function askBoth(resolver: Resolver, name: string, timeoutMs: number): Promise<Answer> {
  const four = resolver.resolve4(name, { ttl: true })
  const six = resolver.resolve6(name, { ttl: true })
  // c-ares' own time-out is looked at once a second only.
  let patience = setTimeout(() => resolver.cancel(), timeoutMs)
  const hurry = () => {
    clearTimeout(patience)
    patience = setTimeout(() => resolver.cancel(), SECOND_FAMILY_MS)
  }
  four.then(hurry, () => {})
  six.then(hurry, () => {})
  const results = await Promise.allSettled([four, six])
  clearTimeout(patience)
  const records = results.map((result) => (result.status === 'fulfilled' ? result.value : []))
  if (records.flat().length > 0) return combine(records)
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  // One family's failure hides that there is no address of the other.
  throw failures.find((failure) => !saysNoAddress(failure)) ?? failures[0] ?? noAddress(name)
}

function combine([four = [], six = []]: RecordWithTtl[][]): Answer {
  const addressesOf = (records: RecordWithTtl[], family: number) =>
    records.slice(0, ADDRESSES_MAX).map(({ address }) => ({ address, family }))
  const [first, second] = [addressesOf(four, 4), addressesOf(six, 6)]
  return {
    // The family that is dialled first: IPv6 where this machine has an address that could reach another.
    addresses: hasGlobalIpv6() ? [...second, ...first] : [...first, ...second],
    ttlS: Math.min(...[...four, ...six].map(({ ttl }) => ttl)),
  }
}

function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, address }) => family === 'IPv6' && /^[23]/.test(address)),
  )
}

/** NXDOMAIN, no record of the type, or a name that no server can have: another server would say the same. */
export function saysNoAddress(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME'
}

export function noAddress(name: string): Error {
  return lookupError('ENOTFOUND', `${name} has no address`)
}

export function lookupError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
