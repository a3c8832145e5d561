import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const outages = testsOf('test/outages/doctor.test.ts')
const named = outages('[O6] names $by: $code')
const command = testsOf('test/cli/doctor.test.ts')

/** What stops a live system, or soon will, and the doctor would pass over. */
export const doctorFindings: readonly Mutant[] = [
  {
    id: 'doctor-autovacuum-unseen',
    rules: ['O6'],
    breaks: 'A server without autovacuum is not named.',
    edits: [
      {
        file: 'src/doctor/examine-vacuum.ts',
        find: "name IN ('autovacuum', 'track_counts')",
        replace: "name IN ('track_counts')",
      },
    ],
    test: outages('[O6] autovacuum that is off for the server: autovacuum_off'),
  },
  {
    id: 'doctor-table-autovacuum-unseen',
    rules: ['O6'],
    breaks: 'A table that autovacuum passes over is not named.',
    edits: [
      {
        file: 'src/doctor/examine-vacuum.ts',
        find: "relkind = 'r' AND EXISTS (",
        replace: "relkind = 'p' AND EXISTS (",
      },
    ],
    test: named,
  },
  {
    id: 'doctor-read-only-unseen',
    rules: ['O6', 'O3'],
    breaks: 'A database that takes no writes passes for ready.',
    edits: [
      {
        file: 'src/database/check-readiness.ts',
        find: 'if (found?.is_standby || found?.is_read_only) {',
        replace: 'if (found?.is_standby) {',
      },
    ],
    test: named,
  },
  {
    id: 'doctor-ends-process-zero',
    rules: ['O6'],
    breaks: 'The remedy for a lock of a prepared transaction ends process 0.',
    edits: [
      {
        file: 'src/doctor/examine-sessions.ts',
        find: 'const NO_PROCESS = 0',
        replace: 'const NO_PROCESS = -1',
      },
    ],
    test: outages('[O6] ten minutes ahead: a session that waits for a prepared transaction: lock_waited_for'),
  },
  {
    id: 'doctor-exhaustion-is-nearly',
    rules: ['O6'],
    breaks: 'A server without a connection left is named as one that has a few, with exit code 0.',
    edits: [{ file: 'src/doctor/examine-sessions.ts', find: 'used >= most ?', replace: 'used > most * 2 ?' }],
    test: outages(
      '[O6] a server without a connection left, for itself and for the command: connections_exhausted',
    ),
  },
  {
    id: 'doctor-login-limit-unseen',
    rules: ['O6', 'O2'],
    breaks: 'A login at its limit is not named while the server has connections left.',
    edits: [
      {
        file: 'src/doctor/examine-sessions.ts',
        find: 'WHERE rolconnlimit > 0 GROUP BY',
        replace: 'WHERE rolconnlimit > 1000 GROUP BY',
      },
    ],
    test: outages(
      '[O2, O6] a login at its limit, for every caller: connections_exhausted, database_unreachable',
    ),
  },
  {
    id: 'doctor-clock-set-back-unseen',
    rules: ['O6', 'O3'],
    breaks: 'Rows from the future are passed over.',
    edits: [
      {
        file: 'src/doctor/examine-clock.ts',
        find: '(aheadS ?? 0) > AHEAD_S_MAX',
        replace: '(aheadS ?? 0) < -AHEAD_S_MAX',
      },
    ],
    test: outages('[O6] set back: clock_set_back'),
  },
  {
    id: 'doctor-wrong-key-unseen',
    rules: ['O6', 'U2'],
    breaks: 'With another master key, every secret is named as damaged, and the key is not.',
    edits: [
      {
        file: 'src/doctor/examine-secrets.ts',
        find: 'await checkMasterKey(pool, box)',
        replace: 'if (!masterKey) await checkMasterKey(pool, box)',
      },
    ],
    test: named,
  },
  {
    id: 'doctor-dropped-index-unseen',
    rules: ['O6', 'G11'],
    breaks: 'An index that was dropped is not named.',
    edits: [
      {
        file: 'src/doctor/schema/compare-objects.ts',
        find: 'if (isWithin(object, there)) found.push',
        replace: "if (object.kind !== 'index' && isWithin(object, there)) found.push",
      },
    ],
    test: named,
  },
  {
    id: 'doctor-silence-is-well',
    rules: ['O6'],
    breaks: 'Where no process runs and nothing waits, all is well.',
    edits: [
      {
        file: 'src/doctor/examine-work.ts',
        find: '...(running.length === 0 && waiting.length === 0',
        replace: '...(running.length < 0 && waiting.length === 0',
      },
    ],
    test: named,
  },
  {
    id: 'doctor-silence-can-wait',
    rules: ['O6'],
    breaks: 'Where no process runs, the exit code is 0.',
    edits: [
      {
        file: 'src/doctor/finding.ts',
        find: "nothing_runs: {\n    severity: 'failing'",
        replace: "nothing_runs: {\n    severity: 'attention'",
      },
    ],
    test: command('[O6] prints the state, and that no part is running'),
  },
  {
    id: 'doctor-role-logins-unseen',
    rules: ['O6', 'O2'],
    breaks: 'With {role} in the URL, a login that does not work is not named.',
    edits: [
      {
        file: 'src/doctor/examine-roles.ts',
        find: '(error: Error) => [explainRefusal(role, error)],',
        replace: '(error: Error) => [explainRefusal(role, error)].slice(1),',
      },
    ],
    test: outages('[O6] every fault in the logins of a URL with {role}, and nothing when they are right'),
  },
  {
    id: 'doctor-lost-results-unseen',
    rules: ['O6', 'S13'],
    breaks: 'Results that are in no queue are passed over: their deliveries stay InProgress.',
    edits: [
      {
        file: 'src/doctor/examine-routing.ts',
        find: "saga.status = 'InProgress'\n",
        replace: "saga.status = 'PendingRetry'\n",
      },
    ],
    test: command('[S13, O6] finds lost results; the statement of the page puts them back'),
  },
]
