import type { Mutant } from '../mutant.js'
import { orchestrate, testsOf } from './named-tests.js'

const routerTests = testsOf('test/runtime/start-router.test.ts')
const loopTests = testsOf('test/runtime/start-orchestrator.test.ts')

/** Deliveries that pass the backlog of another subscription. */
export const backlogs: readonly Mutant[] = [
  {
    id: 'burst-holds-up-routing',
    rules: ['R1'],
    breaks: 'While many events wait to be routed, each round begins with the oldest of them.',
    edits: [
      {
        file: 'src/runtime/start-router.ts',
        find: '{ newest: isNewestsTurn }',
        replace: '{ newest: false }',
      },
    ],
    test: routerTests('[R1] lets the events of other types pass a burst'),
  },
  {
    id: 'backlog-holds-up-first-jobs',
    rules: ['S7'],
    breaks: 'While one subscription has a backlog, the others wait for their first jobs behind it.',
    edits: [
      {
        file: 'src/runtime/start-orchestrator.ts',
        find: 'if (isFresh) hasBacklog = made.first >= BATCH_MAX',
        replace: 'if (isFresh) hasBacklog = false',
      },
    ],
    test: loopTests('[S7] lets the deliveries of other subscriptions pass a backlog'),
  },
  {
    id: 'backlog-passes-itself',
    rules: ['S7'],
    breaks: 'Of the newest deliveries, the subscription with the backlog gets as many jobs as it has.',
    edits: [
      {
        file: 'src/orchestrator/make-jobs.ts',
        find: 'WHERE place <= ${PER_SUBSCRIPTION} AND',
        replace: 'WHERE place > 0 AND',
      },
    ],
    test: orchestrate('[S7, S16] the deliveries of other subscriptions pass the backlog of one'),
  },
]
