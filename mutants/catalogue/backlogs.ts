import type { Mutant } from '../mutant.js'
import { orchestrate, testsOf } from './named-tests.js'

const routerTests = testsOf('test/delivery/router/start-router.test.ts')
const loopTests = testsOf('test/delivery/orchestrator/start-orchestrator.test.ts')

/** Deliveries that pass the backlog of another subscription. */
export const backlogs: readonly Mutant[] = [
  {
    id: 'burst-holds-up-routing',
    rules: ['R1'],
    breaks: 'While many events wait to be routed, all are routed oldest first.',
    edits: [
      {
        file: 'src/delivery/router/start-router.ts',
        find: 'if (pace.hasMore()) passing.wake()',
        replace: 'if (pace.hasMore()) loop.wake()',
      },
    ],
    test: routerTests('[R1] a burst does not delay events of other types'),
  },
  {
    id: 'backlog-holds-up-first-jobs',
    rules: ['S7'],
    breaks: 'While one subscription has a backlog, the others wait for their first jobs behind it.',
    edits: [
      {
        file: 'src/delivery/orchestrator/start-orchestrator.ts',
        find: 'if (more) passing.wake()',
        replace: 'if (more) firstJobs.wake()',
      },
    ],
    test: loopTests('[S7] a backlog does not delay the deliveries of other subscriptions'),
  },
  {
    id: 'backlog-passes-itself',
    rules: ['S7'],
    breaks: 'Of the newest deliveries, the subscription with the backlog gets as many jobs as it has.',
    edits: [
      {
        file: 'src/delivery/orchestrator/make-jobs.ts',
        find: 'WHERE place <= ${PER_SUBSCRIPTION} AND',
        replace: 'WHERE place > 0 AND',
      },
    ],
    test: orchestrate('[S7, S16] a backlog of one subscription does not delay the deliveries of others'),
  },
  {
    id: 'burst-passes-itself',
    rules: ['R1'],
    breaks: 'What passes a burst is taken from the burst itself.',
    edits: [
      {
        file: 'src/delivery/router/route-events.ts',
        find: 'WHERE event_type <> (SELECT event_type',
        replace: 'WHERE event_type >= (SELECT event_type',
      },
    ],
    test: testsOf('test/delivery/router/routing-queue.test.ts')(
      '[R1] a few events of other types overtake a burst at the head of the queue',
    ),
  },
  {
    id: 'late-deliveries-are-not-passed',
    rules: ['S7'],
    breaks: 'A look past a backlog begins where the last one ended, and misses what was committed late.',
    edits: [
      {
        file: 'src/delivery/orchestrator/backlog-mark.ts',
        find: 'pastSaga: () => late.last',
        replace: 'pastSaga: () => late.next',
      },
    ],
    test: testsOf('test/delivery/orchestrator/backlog-mark.test.ts')(
      '[S7] a read past a backlog also covers rows that may have been committed late',
    ),
  },
  {
    id: 'bulk-goes-on-at-once',
    rules: ['R1', 'S7'],
    breaks: 'A burst is moved on at full speed while workers have a backlog.',
    edits: [
      {
        file: 'src/loop/bulk-pace.ts',
        find: 'more && hasBacklog() ?',
        replace: 'more && !hasBacklog() ?',
      },
    ],
    test: testsOf('test/loop/bulk-pace.test.ts')(
      '[R1, S7] full rounds keep their distance only while work is left and workers have a backlog',
    ),
  },
  {
    id: 'full-lane-is-no-backlog',
    rules: ['R1'],
    breaks: 'A worker that holds all it may of a burst says that it has no backlog.',
    edits: [
      {
        file: 'src/delivery/worker/lanes.ts',
        find: "&& standingOf(id) === 'answering') return true",
        replace: "&& standingOf(id) === 'failing') return true",
      },
    ],
    test: testsOf('test/delivery/worker/lanes.test.ts')(
      '[R1] a worker is busy when an endpoint that answers runs all the jobs held for it',
    ),
  },
  {
    id: 'released-job-wakes-no-claim',
    rules: ['J4'],
    breaks: 'A job that is released after its endpoint has answered waits for the next poll.',
    edits: [
      {
        file: 'src/delivery/worker/held-jobs.ts',
        find: "if (refused.some((job) => standingOf(job.subscriptionId) === 'answering')) options.onDone()",
        replace: "if (refused.some((job) => standingOf(job.subscriptionId) === 'failing')) options.onDone()",
      },
    ],
    test: testsOf('test/delivery/worker/start-worker.test.ts')(
      '[J4] is claimed again when its endpoint answers before the job has been released',
    ),
  },
]
