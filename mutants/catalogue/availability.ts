import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const unwritable = testsOf('test/outages/unwritable.slow.test.ts')
const shared = testsOf('test/outages/readiness.test.ts')
const toldOnce = testsOf('test/outages/told-once.slow.test.ts')
const stopping = testsOf('test/outages/stop.slow.test.ts')

const systemFile = 'src/runtime/start-system.ts'
const readinessFile = 'src/database/readiness.ts'
const goesAway = toldOnce(
  '[O5, O7] an outage of the database is reported once, with host and role, and once more when it is over',
)

/** A database that is away or takes no writes, and processes that stop. */
export const availability: readonly Mutant[] = [
  {
    id: 'ready-on-standby',
    rules: ['E1'],
    breaks: 'A process whose database is a standby says that it is ready.',
    edits: [
      {
        file: 'src/database/check-readiness.ts',
        find: 'if (found?.is_standby || found?.is_read_only) {',
        replace: 'if (found?.is_read_only && !found.is_standby) {',
      },
    ],
    test: unwritable(
      '[O7] a hot standby is not ready, tells publishers and the doctor, and is ready once promoted',
    ),
  },
  {
    id: 'ready-without-a-write',
    rules: ['E1'],
    breaks: 'A process is ready though no commit ends.',
    edits: [
      {
        file: readinessFile,
        find: 'obstacles.push(...((await checkWrites(pool)) ?? []))',
        replace: 'await checkWrites(pool)',
      },
    ],
    test: unwritable(
      '[O7] a commit that waits for a missing standby: not ready, and every time-out frees its backend',
    ),
  },
  {
    id: 'time-out-leaves-its-statement',
    rules: ['J8'],
    breaks: 'A statement that the process has given up goes on in the server.',
    edits: [
      {
        file: 'src/database/abandon-connection.ts',
        find: 'if (isAtWork) await cancelStatement(inside)',
        replace: 'if (!isAtWork) await cancelStatement(inside)',
      },
    ],
    test: stopping(
      '[J8] a statement that takes too long is cancelled on the server too, and its transaction with it',
    ),
  },
  {
    id: 'readiness-asked-by-each',
    rules: ['E1'],
    breaks: 'Each stranger who asks for readiness costs the database a look.',
    edits: [{ file: readinessFile, find: 'underWay ??= look()', replace: 'underWay = look()' }],
    test: shared('[O2] one query serves all callers at the same time, and those soon after'),
  },
  {
    id: 'readiness-tells-the-drivers-words',
    rules: ['E1'],
    breaks: 'The readiness answer contains the driver’s message, addresses and logins included.',
    edits: [
      {
        file: 'src/database/check-readiness.ts',
        find: 'detail: errorCatalogue[code].title, cause })',
        replace: 'detail: cause, cause })',
      },
    ],
    test: shared('[O2, O7] an unauthenticated caller gets a code and our own sentence, not the driver’s'),
  },
  {
    id: 'stop-without-deadline',
    rules: ['J8'],
    breaks: 'A stop waits for a database that does not answer.',
    edits: [
      {
        file: systemFile,
        find: 'return await within(endMs, ended, () => giveUp(drainMs + endMs, keptMs)).finally(watch.stop)',
        replace: 'return await ended.finally(watch.stop)',
      },
    ],
    test: stopping(
      '[O5, J8] a stop while the database has vanished ends at its deadline, and reports in one line what it gave up',
    ),
    needsBuild: true,
  },
  {
    id: 'port-closed-at-once',
    rules: ['E1'],
    breaks: 'The API closes its port before load balancers have heard of it.',
    edits: [{ file: systemFile, find: '    if (drainMs > 0) await sleep(drainMs)\n', replace: '' }],
    test: stopping('[O2] reports not ready and keeps serving before it closes its port'),
    needsBuild: true,
  },
  {
    id: 'a-line-for-each-failure',
    rules: ['J11'],
    breaks: 'Each round of each part that fails for the same outage is an error in the log.',
    edits: [
      {
        file: 'src/observability/log/log-failure.ts',
        find: "log[outageOf(error) ? 'debug' : 'error']",
        replace: 'log.error',
      },
    ],
    test: goesAway,
  },
  {
    id: 'a-line-for-each-refusal',
    rules: ['J11'],
    breaks: 'Each request that is refused for the same outage is a warning in the log.',
    edits: [
      {
        file: 'src/http/answer-errors.ts',
        find: "const level = outageOf(error) ? 'debug' : 'warn'",
        replace: "const level = 'warn'",
      },
    ],
    test: goesAway,
  },
  {
    id: 'an-outage-without-an-end',
    rules: ['J11'],
    breaks: 'Nothing tells that the database is back.',
    edits: [
      {
        file: 'src/database/watch-pool.ts',
        find: 'if (!error) watch.answered()',
        replace: 'if (error) watch.answered()',
      },
    ],
    test: goesAway,
  },
]
