import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, testsOf } from './named-tests.js'

const lostAnswers = testsOf('test/delivery/worker/lost-answers.test.ts')
const workerTests = testsOf('test/delivery/worker/start-worker.test.ts')
const turnTests = testsOf('test/delivery/worker/turns.test.ts')
const breakerTests = testsOf('test/delivery/breakers/note-outcomes.test.ts')
const keeperTests = testsOf('test/delivery/breakers/breakers.test.ts')
const laneTests = testsOf('test/delivery/worker/lanes.test.ts')
const paceTests = testsOf('test/delivery/worker/request-pace.test.ts')

const firstTryTests = testsOf('test/delivery/worker/first-tries.test.ts')
const spacingTests = testsOf('test/delivery/worker/claim-spacing.test.ts')

/** The worker: answers that are lost, and endpoints in doubt. */
export const worker: readonly Mutant[] = [
  {
    id: 'lost-claim-waits-for-lease',
    rules: ['J4'],
    breaks: 'What a claim leased whose answer was lost is left until its lease runs out.',
    edits: [
      {
        file: 'src/delivery/worker/start-worker.ts',
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
        file: 'src/delivery/worker/release-claims.ts',
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
        file: 'src/delivery/worker/report-batcher.ts',
        find: 'if (refused.length > 0) for',
        replace: 'if (refused.length > reports.length) for',
      },
    ],
    test: lostAnswers(
      '[J5] of a report: the repeated report is accepted, since the result was written under its own lease',
    ),
  },
  {
    id: 'expired-lease-taken-for-own-result',
    rules: ['J5'],
    breaks: 'A report for a job that the cleaner has failed is taken for one that was accepted before.',
    edits: [
      {
        file: 'src/delivery/worker/find-reported.ts',
        find: "AND job.error_code IS DISTINCT FROM 'lease_expired'",
        replace: '',
      },
    ],
    test: lostAnswers('[J5] of a report: a repeated report is refused after the lease was lost for good'),
  },
  {
    id: 'give-back-tried-once',
    rules: ['J12'],
    breaks: 'What cannot be given back at the first try waits for the end of its lease.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: 'repeatUntil(endsMs, () => releaseJobs(pool, jobs, window))',
        replace: 'repeatUntil(() => endsMs() * 0, () => releaseJobs(pool, jobs, window))',
      },
    ],
    test: lostAnswers(
      '[J12] of a release, or the statement itself (cut %s it): the job is free, and sent once',
    ),
  },
  {
    id: 'knowledge-lost-at-restart',
    rules: ['J3'],
    breaks: 'A worker that starts does not ask which endpoints have answered before.',
    edits: [
      {
        file: 'src/delivery/breakers/breakers.ts',
        find: 'if (unknown.length === 0) return',
        replace: 'if (unknown.length >= 0) return',
      },
    ],
    test: workerTests(
      '[J3] has its share of the slots at once; an endpoint that never answered is tried with one delivery first',
    ),
  },
  {
    id: 'probes-take-slots',
    rules: ['J3'],
    breaks: 'Probes of paused endpoints take the slots of those that answer.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: 'if (stoppedAtMs !== undefined) return undefined',
        replace: 'if (stoppedAtMs !== undefined || probing >= concurrency) return undefined',
      },
    ],
    test: workerTests(
      '[J7] is probed in slots of its own: a hanging probe takes none from endpoints that answer',
    ),
  },
  {
    id: 'doubtful-in-order-of-jobs',
    rules: ['J3'],
    breaks: 'Of the endpoints in doubt, those whose jobs come first are tried again and again.',
    edits: [
      {
        file: 'src/delivery/worker/turns.ts',
        find: 'line.delete(id)\n        line.add(id)',
        replace: 'line.add(id)',
      },
    ],
    test: turnTests('[J3] each has its turn, untried ones first, and then goes to the end of the line'),
  },
  {
    id: 'silent-lane-keeps-its-slots',
    rules: ['J3'],
    breaks: 'An endpoint that stops to answer keeps its slots until its requests time out.',
    edits: [
      {
        file: 'src/delivery/worker/lanes.ts',
        find: 'aside += lane.running - lane.aside\n        lane.aside = lane.running',
        replace: 'lane.silentSinceMs = nowMs',
      },
    ],
    test: laneTests(
      '[J3] a lane without an answer for two seconds gives its slots away, and begins nothing until it has an answer',
    ),
  },
  {
    id: 'failing-take-the-slots-of-the-untried',
    rules: ['J3'],
    breaks: 'Endpoints that are known to fail may take all slots that are meant for endpoints in doubt.',
    edits: [
      { file: 'src/delivery/worker/lanes.ts', find: 'FAILING_SHARE = 0.6', replace: 'FAILING_SHARE = 1' },
    ],
    test: workerTests(
      '[J3] come before those known to fail, however long that backlog, and wait for none of their slots',
    ),
  },
  {
    id: 'starts-follow-each-other-when-late',
    rules: ['J3'],
    breaks:
      'A worker that was kept waiting begins one request after the other, and reads no answer in between.',
    edits: [
      {
        file: 'src/delivery/worker/request-pace.ts',
        find: 'turn = setImmediate(end)',
        replace: 'end()',
      },
    ],
    test: paceTests('[J3] lets answers be read between two starts, even where the pauses are over at once'),
  },
  {
    id: 'failed-probe-not-reported',
    rules: ['J3', 'J12'],
    breaks: 'A probe that fails is put back instead of reported.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: 'const accepted = await reportWhileLeased(',
        replace:
          'if (job.probe && errorCode !== null) return releaseJobs(pool, [job])\n    const accepted = await reportWhileLeased(',
      },
    ],
    test: workerTests('[J3, J12] is probed with one delivery, whose failure is its attempt like any other'),
  },
  {
    id: 'sent-job-put-back',
    rules: ['J3', 'J12'],
    breaks: 'A job whose request was made is put back when the sender fails.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: 'held.filter(({ isSent }) => !isSent)',
        replace: 'held.filter(({ isSent }) => !isSent || isSent)',
      },
    ],
    test: workerTests(
      '[J12] whose request was sent before the sender failed is not given back: its lease expires, and is counted',
    ),
  },
  {
    id: 'result-put-back',
    rules: ['J3', 'J12'],
    breaks: 'The database lets a job go back that has a result.',
    edits: [
      {
        file: schema.jobs,
        find: 'NEW.finished_at) > 0',
        replace: 'NEW.finished_at) > 6',
      },
    ],
    test: guards('[J3, J12] has not been sent: with %s (%s) it is %s'),
  },
  {
    id: 'claimed-before-pause-is-sent',
    rules: ['J3', 'J7'],
    breaks: 'What was being claimed when the breaker opened is sent.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: 'if (isLate(job) || isPaused(job)) {',
        replace: 'if (isLate(job)) {',
      },
    ],
    test: workerTests(
      '[J3, J7] gets nothing that was being claimed when its breaker opened: it is given back unsent',
    ),
  },
  {
    id: 'breaker-opens-with-time-alone',
    rules: ['J3', 'J7'],
    breaks:
      'A worker goes on sending to an endpoint that fails, for two minutes, however many requests that is.',
    edits: [
      {
        file: 'src/delivery/breakers/recent-outcomes.ts',
        find: 'return failed && outcomes.length === limits.outcomes',
        replace: 'return failed && outcomes.length > limits.outcomes',
      },
    ],
    test: keeperTests(
      '[J7] nothing more is sent from the fiftieth failure on: first by this worker, then by all',
    ),
  },
  {
    id: 'failures-of-all-not-added-up',
    rules: ['J3', 'J7'],
    breaks: 'Under load the failures of several workers are not added up.',
    edits: [
      {
        file: 'src/delivery/breakers/note-outcomes.ts',
        find: 'OR breaker.failures + excluded.failures >= $8',
        replace: 'OR excluded.failures >= $8',
      },
    ],
    test: breakerTests('[J7] opens after fifty consecutive failures of all workers, however short the time'),
  },
  {
    id: 'old-request-closes-breaker',
    rules: ['J3', 'J7'],
    breaks: 'A request that was begun before the breaker opened closes it.',
    edits: [
      {
        file: 'src/delivery/breakers/breakers.ts',
        find: 'if (!hasFailed && !probe && isOpen(id)',
        replace: 'if (!hasFailed && probe && isOpen(id)',
      },
    ],
    test: keeperTests(
      '[J7] a request from before the breaker opened no longer closes it; a successful probe does, and counting restarts',
    ),
  },
  {
    id: 'hanging-tries-keep-their-place',
    rules: ['J3'],
    breaks: 'Endpoints that were never tried wait until those before them have answered or timed out.',
    edits: [
      {
        file: 'src/delivery/worker/first-tries.ts',
        find: 'waiting.set(id, setTimeout(isSilent, SILENT_MS))',
        replace: 'waiting.set(id, setTimeout(isSilent, SILENT_MS * 1_000))',
      },
    ],
    test: workerTests('[J3] are all tried, though none of those before them answers'),
  },
  {
    id: 'first-tries-in-one-turn',
    rules: ['J3'],
    breaks: 'All endpoints that were never tried begin together, and no answer is read meanwhile.',
    edits: [
      {
        file: 'src/delivery/worker/first-tries.ts',
        find: 'begunInTurn < PER_TURN && waiting.size < atOnce',
        replace: 'waiting.size < atOnce',
      },
    ],
    test: workerTests('[J3] are tried a few at a time, so that others get their turn in between'),
  },
  {
    id: 'first-tries-without-bound',
    rules: ['J3'],
    breaks: 'Any number of endpoints that were never tried may wait for their answer together.',
    edits: [
      {
        file: 'src/delivery/worker/first-tries.ts',
        find: 'begunInTurn < PER_TURN && waiting.size < atOnce',
        replace: 'begunInTurn < PER_TURN',
      },
    ],
    test: firstTryTests(
      '[J3] the number of unanswered requests is bounded, and each answer makes room for one',
    ),
  },
  {
    id: 'silence-slows-nothing',
    rules: ['J3'],
    breaks: 'Once many endpoints have answered, as many that hang are tried together.',
    edits: [
      {
        file: 'src/delivery/worker/first-tries.ts',
        find: 'atOnce = afterSilence(atOnce)',
        replace: 'void afterSilence(atOnce)',
      },
    ],
    test: firstTryTests(
      '[J3] with answers more requests wait together, up to a limit, and fewer again when some are silent',
    ),
  },
  {
    id: 'few-untried-are-held',
    rules: ['J3'],
    breaks: 'Beside endpoints that hang, those that were never tried are claimed by the handful.',
    edits: [
      {
        file: 'src/delivery/worker/lanes.ts',
        find: 'UNTRIED_PREFETCH_FACTOR = 4',
        replace: 'UNTRIED_PREFETCH_FACTOR = 1',
      },
    ],
    test: laneTests(
      '[J3] four jobs of untried endpoints are held for each free slot, and at most as many as there are slots',
    ),
  },
  {
    id: 'crowd-is-claimed-to-go-back',
    rules: ['J3'],
    breaks: 'However much of what it claims goes back, a worker claims as much again.',
    edits: [
      {
        file: 'src/delivery/worker/claim-spacing.ts',
        find: 'isCrowded ? Math.min(room, CROWD_BATCH) : room',
        replace: 'room',
      },
    ],
    test: spacingTests(
      '[J3] while most claimed jobs are given back, few are claimed at a time, and the rest is not forgotten',
    ),
  },
  {
    id: 'thousands-passed-over-each-round',
    rules: ['J3'],
    breaks: 'A claim that passes over thousands of subscriptions is repeated in each round.',
    edits: [
      {
        file: 'src/delivery/worker/claim-spacing.ts',
        find: 'notBeforeMs = nowMs + passedOver / PASSED_OVER_PER_MS',
        replace: 'notBeforeMs = nowMs + passedOver * 0',
      },
    ],
    test: spacingTests(
      '[J3] a claim that passes over thousands and finds little is repeated later, the more they are',
    ),
  },
]
