import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const accessTests = testsOf('test/http/access.test.ts')
const keyTests = testsOf('test/api-keys/keys.test.ts')
const revokedTests = testsOf('test/schema/revoked-keys.test.ts')
const migrateTests = testsOf('test/schema/migrate.test.ts')
const sessionTests = testsOf('test/http/sessions.test.ts')
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
        file: 'src/api-keys/authenticator.ts',
        find: '(wasGood ? askAtOnce(hash) : askInTurn(hash))',
        replace: '(wasGood || askInTurn ? askAtOnce(hash) : askInTurn(hash))',
      },
    ],
    test: keyTests('[O2] looks up a flood of unknown keys in batches, and finds the valid key among them'),
  },
  {
    id: 'flood-evicts-good-keys',
    rules: ['O2'],
    breaks: 'Keys that are being asked about take the place of keys that are known to be good.',
    edits: [
      {
        file: 'src/api-keys/authenticator.ts',
        find: 'keep(wasGood ? known : unknown, name, entry)',
        replace: 'keep(known, name, entry)',
      },
    ],
    test: keyTests('[O2] a flood of unknown keys does not evict a valid key'),
  },
  {
    id: 'forwarded-address-of-strangers',
    rules: ['O2'],
    breaks: 'X-Forwarded-For is trusted from any sender.',
    edits: [
      {
        file: 'src/http/server/build-server.ts',
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
        file: 'src/http/routes/sessions.ts',
        find: 'if (session !== undefined) await sessions.end(session)',
        replace: 'if (session === undefined) return reply.code(204).send()',
      },
    ],
    test: sessionTests(
      '[O2] that was signed out is refused on every server, a copy of its cookie too; others stay valid',
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
    test: formatTests('as --json escape control characters and keep the value'),
  },
  {
    id: 'requeued-dead-letters-alarm',
    rules: ['O6', 'D4'],
    breaks: 'The doctor counts dead letters that were requeued.',
    edits: [
      {
        file: 'src/observability/live/count-waiting-letters.ts',
        find: 'WHERE heir.requeued_from = letter.id AND',
        replace: 'WHERE heir.requeued_from = -letter.id AND',
      },
    ],
    test: doctorTests('[O6] reports that all invariants hold'),
  },
  {
    id: 'revoked-key-comes-back',
    rules: ['O2'],
    breaks: 'The role that revokes keys takes a revocation back.',
    edits: [
      {
        file: schema.apiAndDashboard,
        find: '(OLD.id, OLD.scope, OLD.key_hash, OLD.revoked_at) IS DISTINCT FROM',
        replace: '(OLD.id, OLD.scope, OLD.key_hash, NEW.revoked_at) IS DISTINCT FROM',
      },
    ],
    test: revokedTests('[O2] stays revoked for %s: %s is refused'),
  },
  {
    id: 'revoked-key-made-again',
    rules: ['O2'],
    breaks: 'The row of a revoked key can be deleted, and the key be made again.',
    edits: [
      {
        file: schema.apiAndDashboard,
        find: 'ENABLE ALWAYS TRIGGER api_key_revoked_is_kept',
        replace: 'DISABLE TRIGGER api_key_revoked_is_kept',
      },
    ],
    test: revokedTests('[O2] stays revoked for %s: %s is refused'),
  },
  {
    id: 'revoked-keys-truncated',
    rules: ['O2'],
    breaks: 'TRUNCATE removes revoked keys, and they can be made again.',
    edits: [
      {
        file: schema.apiAndDashboard,
        find: 'ENABLE ALWAYS TRIGGER api_keys_truncate_is_refused',
        replace: 'DISABLE TRIGGER api_keys_truncate_is_refused',
      },
    ],
    test: revokedTests('[O2] stays revoked for %s: %s is refused'),
  },
  {
    id: 'migrators-side-by-side',
    rules: ['G11'],
    breaks: 'Two migrators work at the same time.',
    edits: [
      {
        file: 'src/database/migrate.ts',
        find: 'IN SHARE UPDATE EXCLUSIVE MODE',
        replace: 'IN ACCESS SHARE MODE',
      },
    ],
    test: migrateTests('[G11] reports that it waits for a migrator at work, and continues after it'),
  },
  {
    id: 'readers-hold-up-migrators',
    rules: ['O2'],
    breaks: 'A role that may only read the schema version keeps migrations waiting for ever.',
    edits: [
      {
        file: 'src/database/migrate.ts',
        find: 'IN SHARE UPDATE EXCLUSIVE MODE',
        replace: 'IN ACCESS EXCLUSIVE MODE',
      },
    ],
    test: migrateTests('[O2] is not blocked by the role of any part, whatever that locks'),
  },
  {
    id: 'migration-lock-of-anyone',
    rules: ['O2'],
    breaks: 'A login that holds an advisory lock keeps migrations waiting for ever.',
    edits: [
      {
        file: 'src/database/migrate.ts',
        find: "'LOCK TABLE sagapost.saga_schema_version IN",
        replace: "'SELECT pg_advisory_xact_lock(1935763297); LOCK TABLE sagapost.saga_schema_version IN",
      },
    ],
    test: migrateTests('[O2] is not blocked by the role of any part, whatever that locks'),
  },
  {
    id: 'failed-look-forgets-a-sign-out',
    rules: ['O2'],
    breaks: 'When a look at a session fails, the sign-out that came meanwhile is forgotten.',
    edits: [
      {
        file: 'src/api-keys/ended-sessions.ts',
        find: 'known.get(name)?.ended === asking && known.delete(name)',
        replace: 'known.delete(name)',
      },
    ],
    test: testsOf('test/api-keys/ended-sessions.test.ts')(
      '[O2] a sign-out holds even when an earlier session lookup fails',
    ),
  },
]
