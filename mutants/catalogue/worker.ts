import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const lostAnswers = testsOf('test/worker/lost-answers.test.ts')
const workerTests = testsOf('test/worker/start-worker.test.ts')
const turnTests = testsOf('test/worker/turns.test.ts')
const laneTests = testsOf('test/worker/lanes.test.ts')

/** The worker: answers that are lost, and endpoints in doubt. */
export const worker: readonly Mutant[] = [
  {
    id: 'lost-claim-waits-for-lease',
    rules: ['J4'],
    breaks: 'What a claim leased whose answer was lost is left until its lease runs out.',
    edits: [
      {
        file: 'src/worker/start-worker.ts',
        find: 'lostClaims.add({ leaseToken, range: claim.range })',
        replace: 'void leaseToken',
      },
    ],
    test: lostAnswers(
      '[J4] of a claim: its jobs are free again long before their lease ends, and are sent once',
    ),
  },
  {
    id: 'recovery-takes-from-others',
    rules: ['J4', 'J5'],
    breaks: 'The recovery of a lost claim gives back whatever is leased, also under the tokens of others.',
    edits: [
      {
        file: 'src/worker/release-claims.ts',
        find: 'AND lease_token = ANY ($3::uuid[])',
        replace: 'AND $3::uuid[] IS NOT NULL',
      },
    ],
    test: lostAnswers('[J5] of a claim: what it took is left alone once another worker has it'),
  },
  {
    id: 'repeated-report-refused',
    rules: ['J5'],
    breaks: 'A report that is repeated because its answer was lost is refused as if its lease had been lost.',
    edits: [
      {
        file: 'src/worker/batch-reports.ts',
        find: 'if (refused.length > 0) for',
        replace: 'if (refused.length > reports.length) for',
      },
    ],
    test: lostAnswers(
      '[J5] of a report: the repeated report is accepted, since the result stands under its own lease',
    ),
  },
  {
    id: 'expired-lease-taken-for-own-result',
    rules: ['J5'],
    breaks: 'A report for a job that the cleaner has failed is taken for one that was accepted before.',
    edits: [
      {
        file: 'src/worker/find-reported.ts',
        find: "AND job.error_code IS DISTINCT FROM 'lease_expired'",
        replace: '',
      },
    ],
    test: lostAnswers('[J5] of a report: one that is repeated after the lease was lost for good is refused'),
  },
  {
    id: 'give-back-tried-once',
    rules: ['J12'],
    breaks: 'What cannot be given back at the first try waits for the end of its lease.',
    edits: [
      {
        file: 'src/worker/deliveries.ts',
        find: 'repeatUntil(endsMs, () => releaseJobs(pool, jobs, how))',
        replace: 'repeatUntil(() => endsMs() * 0, () => releaseJobs(pool, jobs, how))',
      },
    ],
    test: lostAnswers(
      '[J12] of what is given back, or the statement itself (cut %s it): it is free, and counted once',
    ),
  },
  {
    id: 'knowledge-lost-at-restart',
    rules: ['J3'],
    breaks: 'A worker that starts does not ask which endpoints have answered before.',
    edits: [
      {
        file: 'src/worker/keep-breakers.ts',
        find: 'if (unknown.length === 0) return',
        replace: 'if (unknown.length >= 0) return',
      },
    ],
    test: workerTests(
      '[J3] has its share of the slots at once; one that never has is tried with one delivery first',
    ),
  },
  {
    id: 'probes-take-slots',
    rules: ['J3'],
    breaks: 'Probes of paused endpoints take the slots of those that answer.',
    edits: [
      {
        file: 'src/worker/deliveries.ts',
        find: 'if (stoppedAtMs !== undefined) return undefined',
        replace: 'if (stoppedAtMs !== undefined || probing >= concurrency) return undefined',
      },
    ],
    test: workerTests('[J7] is probed in slots of its own: one that hangs takes none of those that answer'),
  },
  {
    id: 'doubtful-in-order-of-jobs',
    rules: ['J3'],
    breaks: 'Of the endpoints in doubt, those whose jobs come first are tried again and again.',
    edits: [
      {
        file: 'src/worker/turns.ts',
        find: 'line.delete(id)\n        line.add(id)',
        replace: 'line.add(id)',
      },
    ],
    test: turnTests(
      '[J3] each has its turn, those that were never tried first, and goes to the end of the line',
    ),
  },
  {
    id: 'silent-lane-keeps-its-slots',
    rules: ['J3'],
    breaks: 'An endpoint that stops to answer keeps its slots until its requests time out.',
    edits: [
      {
        file: 'src/worker/lanes.ts',
        find: 'aside += lane.running - lane.aside\n        lane.aside = lane.running',
        replace: 'lane.silentSinceMs = nowMs',
      },
    ],
    test: laneTests(
      '[J3] a lane without an answer for two seconds gives its slots away, and begins nothing until it has one',
    ),
  },
  {
    id: 'failing-take-the-slots-of-the-untried',
    rules: ['J3'],
    breaks: 'Endpoints that are known to fail may take all slots that are meant for endpoints in doubt.',
    edits: [{ file: 'src/worker/lanes.ts', find: 'FAILING_SHARE = 0.75', replace: 'FAILING_SHARE = 1' }],
    test: workerTests(
      '[J3] come before those that are known to fail, however many of theirs wait, and wait for none of their slots',
    ),
  },
]
