import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const settingsFile = 'src/database/session-settings.ts'
const lazyCommits = testsOf('test/database/lazy-commits.slow.test.ts')
const crashed = lazyCommits(
  '[S22, J10, G14] acknowledged work survives a crash, although the database has synchronous_commit = off',
)
const sessions = testsOf('test/database/session-settings.test.ts')
const hostile = testsOf('test/embedding/hostile-settings.slow.test.ts')(
  '[O3, O2] everything works the same: HTTP, SQL, embedding, sagas, from the migration on',
)
const durability = testsOf('test/doctor/examine-durability.test.ts')

/** What a database or a login sets for its sessions. */
export const session: readonly Mutant[] = [
  {
    id: 'lazy-commit-kept',
    rules: ['S22', 'J10', 'E1'],
    breaks: 'A database with synchronous_commit = off acknowledges events before they are on the disk.',
    edits: [{ file: settingsFile, find: `found IN ('off', 'local')`, replace: `found IN ('local')` }],
    test: crashed,
  },
  {
    id: 'lazy-commit-kept-in-transaction-steps',
    rules: ['S22'],
    breaks: 'The transaction of a step is committed as lazily as the database has it.',
    edits: [
      {
        file: 'src/sagas/storage/postgres/transact.ts',
        find: `current_setting('synchronous_commit') IN ('off', 'local')`,
        replace: `current_setting('synchronous_commit') IN ('local')`,
      },
    ],
    test: crashed,
  },
  {
    id: 'remote-commit-lowered',
    rules: ['S22'],
    breaks: 'A database whose commits wait for the standbys to apply them gets commits that do not.',
    edits: [{ file: settingsFile, find: `found IN ('off', 'local')`, replace: `found <> 'on'` }],
    test: lazyCommits('[S22] commits with synchronous_commit %s as %s'),
  },
  {
    id: 'fence-overridden',
    rules: ['S22', 'E1'],
    breaks: 'A database that an operator has set to read only is written to.',
    edits: [
      {
        file: settingsFile,
        find: `  default_transaction_deferrable: 'off',\n`,
        replace: `  default_transaction_deferrable: 'off',\n  default_transaction_read_only: 'off',\n`,
      },
    ],
    test: sessions(
      '[O3] gets no write from us until it is writable again, and a migration finds nothing to do',
    ),
  },
  {
    id: 'date-style-not-pinned',
    rules: ['U1'],
    breaks: 'Times come in the DateStyle of the database, and cannot be read.',
    edits: [{ file: settingsFile, find: `  DateStyle: 'ISO, YMD',\n`, replace: '' }],
    test: hostile,
  },
  {
    id: 'isolation-not-pinned',
    rules: ['J4', 'R3'],
    breaks: 'The parts work under the isolation level of the database, and are refused when they meet.',
    edits: [
      { file: settingsFile, find: `  default_transaction_isolation: 'read committed',\n`, replace: '' },
    ],
    test: testsOf('test/database/role-pool.test.ts')(
      '[O2] run under its role, with our settings, whatever the URL contains: %s',
    ),
  },
  {
    id: 'login-unchecked-behind-a-pooler',
    rules: ['S22'],
    breaks: 'Behind a pooler a login whose commits are lazy is taken as it is.',
    edits: [
      { file: settingsFile, find: 'WHERE set_to IS NULL AND name IN', replace: 'WHERE false AND name IN' },
    ],
    test: sessions(
      '[O3, S22] must have its settings stored behind a pooler: it is refused with instructions, and works afterwards',
    ),
  },
  {
    id: 'doctor-blind-to-fsync',
    rules: ['S22'],
    breaks: 'The doctor says nothing of a server that runs with fsync = off.',
    edits: [
      {
        file: 'src/doctor/examine-durability.ts',
        find: `name IN ('fsync', 'full_page_writes')`,
        replace: `name IN ('full_page_writes')`,
      },
    ],
    test: durability(
      '[S22, O6] names fsync, full_page_writes and synchronous_commit that are off for the whole server',
    ),
  },
  {
    id: 'doctor-blind-to-a-logins-commits',
    rules: ['S22'],
    breaks: 'The doctor looks for lazy commits at the server and the database, and at no login.',
    edits: [
      {
        file: 'src/doctor/examine-durability.ts',
        find: 'AND (setrole = 0 OR EXISTS (',
        replace: 'AND (setrole = 0 OR false AND EXISTS (',
      },
    ],
    test: durability(
      '[S22, O6] names where synchronous_commit is set (database, login, or login in this database) and how to reset it',
    ),
  },
  {
    id: 'orphaned-statement-runs-on',
    rules: ['O2'],
    breaks: 'A statement of a process that was killed runs for as long as it likes.',
    edits: [
      {
        file: 'src/database/role-pool.ts',
        find: 'queryTimeoutMs * SERVER_TIMEOUT_FACTOR',
        replace: '0',
      },
    ],
    test: testsOf('test/database/role-pool.test.ts')(
      '[O2] leave no statement that runs for ever when their process is cut off',
    ),
  },
]
