import type { RecordWithTtl } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import type { ResolvedAddress } from './resolved-address.js'

export interface Answer {
  addresses: readonly ResolvedAddress[]
  ttlS: number
}

/**
 * How long to wait for the second family's answer after the first one's, since some servers drop one of the queries.
 */
const SECOND_FAMILY_MS = 500

/** Addresses kept per family; an answer over TCP may have thousands. */
const ADDRESSES_MAX = 32

export interface Asked {
  /** Rejects with a code of node:dns; ENOTFOUND and ENODATA mean that the server has no address for the name. */
  answer: Promise<Answer>
  cancel(): void
}

/**
 * Asks one server once for the addresses of a name, both families at the same time. c-ares runs on the event loop,
 * without a thread. Each query has its own resolver: a reused one lowers its time-out after quick answers, and its
 * `cancel` would end queries for other names.
 */
export function askServer(server: string, name: string, timeoutMs: number): Asked {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs), tries: 1 })
  resolver.setServers([server])
  return { answer: askBoth(resolver, name, timeoutMs), cancel: () => resolver.cancel() }
}

async function askBoth(resolver: Resolver, name: string, timeoutMs: number): Promise<Answer> {
  const four = resolver.resolve4(name, { ttl: true })
  const six = resolver.resolve6(name, { ttl: true })
  // c-ares checks its own time-out only once a second.
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
  // A failure of one family hides that the other has no address.
  throw failures.find((failure) => !saysNoAddress(failure)) ?? failures[0] ?? noAddress(name)
}

function combine([four = [], six = []]: RecordWithTtl[][]): Answer {
  const addressesOf = (records: RecordWithTtl[], family: number) =>
    records.slice(0, ADDRESSES_MAX).map(({ address }) => ({ address, family }))
  const [first, second] = [addressesOf(four, 4), addressesOf(six, 6)]
  return {
    // The family tried first: IPv6 where this machine has a global IPv6 address.
    addresses: hasGlobalIpv6() ? [...second, ...first] : [...first, ...second],
    ttlS: Math.min(...[...four, ...six].map(({ ttl }) => ttl)),
  }
}

function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, address }) => family === 'IPv6' && /^[23]/.test(address)),
  )
}

/** NXDOMAIN, no record of the type, or an invalid name: another server would answer the same. */
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
