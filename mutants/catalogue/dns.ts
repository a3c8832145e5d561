import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const resolverFile = 'src/webhook/dns/name-resolver.ts'
const guardFile = 'src/webhook/guard-addresses.ts'
const resolverTests = testsOf('test/webhook/dns/name-resolver.test.ts')
const guardTests = testsOf('test/webhook/guard.test.ts')

/** How the names of callbacks are looked up, and which addresses are dialled. */
export const dns: readonly Mutant[] = [
  {
    id: 'lookup-by-threads',
    rules: [],
    breaks: 'Names are looked up on the threads of libuv: four that no server answers for stop all others.',
    edits: [
      {
        file: 'src/webhook/webhook-sender.ts',
        find: 'createSenderWithLookup(options, names.resolve)',
        replace: `createSenderWithLookup(options, async (host) =>
    (await import('node:dns/promises')).lookup(host, { all: true }),
  )`,
      },
    ],
    test: testsOf('test/webhook/dead-names.test.ts')(
      'names without an answer from any server delay neither other endpoints nor the database’s connections',
    ),
  },
  {
    id: 'lookup-without-deadline',
    rules: [],
    breaks: 'A name that no server answers for takes all the time that its request has.',
    edits: [
      {
        file: 'src/webhook/webhook-sender.ts',
        find: 'Math.min(LOOKUP_TIMEOUT_MS, options.requestTimeoutMs / 2)',
        replace: 'Math.max(LOOKUP_TIMEOUT_MS, options.requestTimeoutMs * 2)',
      },
    ],
    test: testsOf('test/webhook/dead-names.test.ts')(
      'a name without an answer ends with dns_failed, well before the request’s own deadline',
    ),
  },
  {
    id: 'hosts-file-ignored',
    rules: [],
    breaks: 'Names that stand in /etc/hosts are asked of the name servers.',
    edits: [
      {
        file: resolverFile,
        find: 'readHosts().get(name)',
        replace: "readHosts().get('')",
      },
    ],
    test: resolverTests('is taken from the hosts file, as it is now, before any server is asked'),
  },
  {
    id: 'search-domains-ignored',
    rules: [],
    breaks: 'The domains of resolv.conf are not searched.',
    edits: [
      {
        file: 'src/webhook/dns/list-candidates.ts',
        find: 'search.map((domain) => `${name}.${domain}`)',
        replace: '[]',
      },
    ],
    test: resolverTests('is searched in the domains of resolv.conf, as they are now'),
  },
  {
    id: 'ttl-ignored',
    rules: [],
    breaks: 'An answer is kept for five minutes, whatever its TTL is.',
    edits: [
      {
        file: resolverFile,
        find: 'answer.ttlS * 1000',
        replace: 'KEPT_MS_MAX',
      },
    ],
    test: resolverTests('is cached as long as its server says, within a second and five minutes'),
  },
  {
    id: 'first-server-decides',
    rules: [],
    breaks: 'A name server that fails or does not answer ends the look-up; the next is not asked.',
    edits: [
      {
        file: 'src/webhook/dns/start-lookup.ts',
        find: 'if (saysNoAddress(error)) throw error',
        replace: 'throw error',
      },
    ],
    test: resolverTests('is asked of the next server if one %s'),
  },
  {
    id: 'lookups-not-shared',
    rules: [],
    breaks: 'Each delivery to a name that is being looked up begins a look-up of its own.',
    edits: [
      {
        file: resolverFile,
        find: 'untilMs: Number.POSITIVE_INFINITY',
        replace: 'untilMs: 0',
      },
    ],
    test: resolverTests('is shared by all callers that ask for the same name'),
  },
  {
    id: 'lookups-without-limit',
    rules: [],
    breaks: 'Any number of names are looked up at once, each with a socket.',
    edits: [
      {
        file: resolverFile,
        find: 'underWay.size >= lookupsMax',
        replace: 'underWay.size < 0',
      },
    ],
    test: resolverTests(
      'more names at once than the limit are refused, not queued behind names without an answer',
    ),
  },
  {
    id: 'metadata-inside-range',
    rules: ['U3'],
    breaks: 'An allowed range opens the metadata services of clouds that lie in it.',
    edits: [
      {
        file: guardFile,
        find: '.some(servesMetadata)) return false',
        replace: '.some(servesMetadata)) return contains(allowed, address)',
      },
    ],
    test: guardTests('do not open the metadata service at %s: only its own entry does'),
  },
  {
    id: 'metadata-behind-nat64',
    rules: ['U3'],
    breaks: 'An allowed range opens a metadata service by an IPv6 address that leads to it.',
    edits: [
      {
        file: guardFile,
        find: '[address, ...listEmbedded(address)].some(',
        replace: '[address].some(',
      },
    ],
    test: guardTests('do not open them behind an address that leads to one'),
  },
  {
    id: 'range-with-host-bits',
    rules: ['U3'],
    breaks: 'A range such as 10.0.0.0/0 is taken, and opens every address.',
    edits: [
      {
        file: 'src/webhook/parse-allowed-cidrs.ts',
        find: 'if (network === undefined) return',
        replace: 'if (network !== address) return',
      },
    ],
    test: guardTests('%s does not begin at its prefix and is refused in one line that shows %s'),
  },
]
