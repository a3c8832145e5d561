import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const scenarios = testsOf('test/e2e/scenarios.test.ts')

/** What no part does wrong by itself, and only an event’s whole way shows. */
export const scenarioMutants: readonly Mutant[] = [
  {
    id: 'duplicate-takes-the-key-over',
    rules: ['O6', 'E3'],
    breaks: 'An event under a key that is taken takes the key over, and is stored again.',
    edits: [
      {
        file: schema.events,
        find: 'WHERE known.key = given.key LIMIT 1)',
        replace: 'WHERE false)',
      },
      {
        file: schema.events,
        find: 'ON CONFLICT (key) DO NOTHING\n    RETURNING event_id',
        replace: 'ON CONFLICT (key) DO UPDATE SET event_id = excluded.event_id\n    RETURNING event_id',
      },
    ],
    test: scenarios(
      '[O6, E3, O7] an event that is published many times at once under one key is stored once and delivered once',
    ),
    needsBuild: true,
  },
  {
    id: 'routing-again-fails-for-ever',
    rules: ['O6', 'R3'],
    breaks: 'A batch with an event that is routed already is tried again as it is, for ever.',
    edits: [
      { file: 'src/delivery/router/route-events.ts', find: 'make: makePossible', replace: 'make: makeAll' },
    ],
    test: scenarios('[O6, R3, S3] events that are routed twice, by two routers, are delivered once'),
    needsBuild: true,
  },
  {
    id: 'cleaner-only-beside-workers',
    rules: ['O6', 'J8'],
    breaks: 'The cleaner runs in processes that have workers, and in no other.',
    edits: [
      {
        file: 'src/runtime/start-worker-part.ts',
        find: 'if (options.cleaner) {',
        replace: 'if (options.cleaner && options.worker) {',
      },
    ],
    test: scenarios(
      '[O6, J8, O2] a worker that is killed in mid-request: its job becomes free and another worker delivers it',
    ),
    needsBuild: true,
  },
  {
    id: 'retry-limit-not-handed-on',
    rules: ['O6', 'S15'],
    breaks: 'The orchestrator is started with another limit of attempts than was configured.',
    edits: [
      {
        file: 'src/runtime/start-orchestrator-part.ts',
        find: 'limit: config.retryLimit,',
        replace: 'limit: config.retryLimit + 1,',
      },
    ],
    test: testsOf('test/runtime/deliver.test.ts')(
      '[O6, S17, D3, D4] retries until the limit, dead-letters, and delivers after a requeue',
    ),
  },
]
