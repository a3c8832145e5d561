import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const accessTests = testsOf('test/http/access.test.ts')
const keyTests = testsOf('test/keys/keys.test.ts')
const sessionTests = testsOf('test/dashboard/sessions.test.ts')
const formatTests = testsOf('test/cli/format.test.ts')
const doctorTests = testsOf('test/cli/doctor.test.ts')

/** Keys and sessions of the API, and what operators see. */
export const access: readonly Mutant[] = [
  {
    id: 'good-key-refused-with-bad-ones',
    rules: ['O2'],
    breaks: 'An address that has sent 20 bad keys is refused with a good one as well.',
    edits: [
      {
        file: 'src/http/require-scope.ts',
        find: 'if (caller === null) throw limit.isOver',
        replace: 'if (caller === null || limit.isOver(request.ip)) throw limit.isOver',
      },
    ],
    test: accessTests(
      '[O2] too many bad keys from one address are 429; a good key is never refused, known or new',
    ),
  },
  {
    id: 'a-question-for-each-bad-key',
    rules: ['O2'],
    breaks: 'Each unknown key is a statement of its own.',
    edits: [
      {
        file: 'src/keys/create-authenticator.ts',
        find: '(wasGood ? askAtOnce(hash) : askInTurn(hash))',
        replace: '(wasGood || askInTurn ? askAtOnce(hash) : askInTurn(hash))',
      },
    ],
    test: keyTests('[O2] asks about a flood of unknown keys together, and finds the good one among them'),
  },
  {
    id: 'flood-evicts-good-keys',
    rules: ['O2'],
    breaks: 'Keys that are being asked about take the place of keys that are known to be good.',
    edits: [
      {
        file: 'src/keys/create-authenticator.ts',
        find: 'keep(wasGood ? known : unknown, name, entry)',
        replace: 'keep(known, name, entry)',
      },
    ],
    test: keyTests('[O2] a flood of unknown keys takes no good key’s place'),
  },
  {
    id: 'forwarded-address-of-strangers',
    rules: ['O2'],
    breaks: 'X-Forwarded-For is believed whoever sends it.',
    edits: [
      {
        file: 'src/http/build-server.ts',
        find: 'trustProxy: trustedProxies.length > 0 && [...trustedProxies],',
        replace: 'trustProxy: trustedProxies.length >= 0,',
      },
    ],
    test: accessTests(
      '[O2] behind a trusted proxy bad keys are counted for the client, otherwise for the proxy',
    ),
  },
  {
    id: 'signed-out-cookie-still-good',
    rules: ['O2'],
    breaks: 'Signing out takes the cookie from the browser, and nothing else.',
    edits: [
      {
        file: 'src/http/routes/keep-sessions.ts',
        find: 'if (session !== undefined) await sessions.end(session)',
        replace: 'if (session === undefined) return reply.code(204).send()',
      },
    ],
    test: sessionTests(
      '[O2] that was signed out is refused on every server, a copy of its cookie too; others go on',
    ),
  },
  {
    id: 'controls-in-json',
    rules: ['O6'],
    breaks: 'The output of --json has the control characters that JSON does not escape.',
    edits: [
      {
        file: 'src/cli/to-json.ts',
        find: '[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]/gu',
        replace: '[\\p{Zl}]/gu',
      },
    ],
    test: formatTests('of --json escape what a terminal would obey, and mean the same'),
  },
  {
    id: 'requeued-dead-letters-alarm',
    rules: ['O6', 'D4'],
    breaks: 'The doctor counts dead letters that were requeued.',
    edits: [
      {
        file: 'src/dead-letters/count-waiting.ts',
        find: 'WHERE heir.requeued_from = letter.id AND',
        replace: 'WHERE heir.requeued_from = -letter.id AND',
      },
    ],
    test: doctorTests('[O6] finds that all invariants hold'),
    needsBuild: true,
  },
]
