import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const config = testsOf('test/config/read-config.test.ts')

/** Rules of the system as a whole that no single part's file has. */
export const system: readonly Mutant[] = [
  {
    id: 'client-reaches-inside',
    rules: ['O1'],
    breaks: 'The client imports the server’s own modules.',
    edits: [{ file: 'src/client/index.ts', append: "export { SagapostError } from '../errors/index.js'" }],
    test: testsOf('test/client/client-types.test.ts')(
      '[O1] the client runs in browsers: it imports nothing but its own files, and names nothing of Node',
    ),
  },
  {
    id: 'isolation-of-the-database',
    rules: ['O3'],
    breaks: 'Sessions have the isolation level that the database has set.',
    edits: [
      {
        file: 'src/database/session-settings.ts',
        find: "  default_transaction_isolation: 'read committed',\n",
        replace: '',
      },
    ],
    test: testsOf('test/database/session-settings.test.ts')(
      '[O3, S22] gets its settings with the first statement, where the connection is direct',
    ),
  },
  {
    id: 'base-delay-of-three-seconds',
    rules: ['O4'],
    breaks: 'Retries begin after three seconds unless told otherwise.',
    edits: [
      {
        file: 'src/config/read-config.ts',
        find: "'SAGAPOST_RETRY_BASE_DELAY', '30s'",
        replace: "'SAGAPOST_RETRY_BASE_DELAY', '3s'",
      },
    ],
    test: config('[O4, S15] has the defaults of the rules: 30 s, 5 attempts, at most one hour'),
  },
  {
    id: 'correlation-lost-on-the-way',
    rules: ['O5'],
    breaks: 'An event on its way to the router has no correlation id.',
    edits: [
      {
        file: schema.routing,
        find: 'SELECT event_type, ARRAY[id], CASE WHEN correlation_id IS NOT NULL THEN ARRAY[correlation_id] END FROM stored',
        replace: 'SELECT event_type, ARRAY[id], NULL::text[] FROM stored',
      },
    ],
    test: testsOf('test/schema/publish.test.ts')(
      '[O5] keeps the correlation id and passes it to the routing queue',
    ),
  },
  {
    id: 'request-key-not-claimed',
    rules: ['O7', 'O8'],
    breaks: 'A key of a request that was used before is claimed again.',
    edits: [
      {
        file: 'src/subscriptions/claim-request-key.ts',
        find: 'ON CONFLICT (key) DO NOTHING',
        replace: 'ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint',
      },
      {
        file: schema.grants,
        find: 'UPDATE (secret_id, previous_expires_at)',
        replace: 'UPDATE',
      },
    ],
    test: testsOf('test/http/subscriptions.test.ts')(
      '[O8, O7] creates one subscription, with the same answer, secret included, for as long as the key is kept',
    ),
  },
]
