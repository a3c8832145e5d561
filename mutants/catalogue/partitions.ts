import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const partitionTests = testsOf('test/schema/partitions.test.ts')
const windowFile = 'src/database/work-window.ts'
const lockTest = testsOf('test/schema/range-locks.slow.test.ts')(
  '[S21, J9] no statement of a part locks more partitions when there are more of them',
)
const windowTests = testsOf('test/database/window-reader.test.ts')

/** What works with three partitions and fails with more. */
export const partitions: readonly Mutant[] = [
  {
    id: 'later-partitions-unreadable',
    rules: ['O7'],
    breaks: 'The role of the workers may not compute a check of the partitions that it reads.',
    edits: [
      {
        file: schema.grants,
        find: '  event_publisher, event_ingest_writer, router_worker, saga_orchestrator, job_worker, saga_readonly_role;',
        replace:
          '  event_publisher, event_ingest_writer, router_worker, saga_orchestrator, saga_readonly_role;',
      },
    ],
    test: partitionTests('[O7] that are created later can be read by every role that reads events'),
  },
  {
    id: 'bounds-as-parameters',
    rules: ['S21', 'J9'],
    breaks:
      'A statement for a range gets its bounds as values: one plan for all of them locks every partition.',
    edits: [
      {
        file: 'src/delivery/worker/report-results.ts',
        find: 'pool.query<{ id: string }>(inRange(report, range), [',
        replace: 'pool.query<{ id: string }>(report, [',
      },
    ],
    test: lockTest,
  },
  {
    id: 'made-jobs-lock-all',
    rules: ['S21', 'S16'],
    breaks: 'The check of made jobs keeps one plan for all values, however many partitions there are.',
    edits: [
      {
        file: schema.jobs,
        find: `'sagapost.webhook_delivery_sagas'::regclass OFFSET 24)`,
        replace: `'sagapost.webhook_delivery_sagas'::regclass OFFSET 24000)`,
      },
    ],
    test: lockTest,
  },
  {
    id: 'dead-letter-locks-all',
    rules: ['S21', 'S17'],
    breaks: 'A dead letter looks for its event and its job with one plan for all values.',
    edits: [
      {
        file: schema.deadLetters,
        find: `'sagapost.webhook_delivery_jobs'::regclass OFFSET 24)`,
        replace: `'sagapost.webhook_delivery_jobs'::regclass OFFSET 24000)`,
      },
    ],
    test: lockTest,
  },
  {
    id: 'window-probes-all-at-once',
    rules: ['S21'],
    breaks: 'A look at the window goes through all older ranges.',
    edits: [
      { file: windowFile, find: 'const PROBED_AT_A_TIME = 16', replace: 'const PROBED_AT_A_TIME = 16_000' },
    ],
    test: windowTests(
      '[S21, R1] includes an older range whose work is open again after a few reads, and no read covers all ranges',
    ),
  },
  {
    id: 'settled-range-never-looked-at',
    rules: ['S21', 'R1'],
    breaks: 'What is open again in an older range, by a requeue, is found at the next start only.',
    edits: [
      {
        file: windowFile,
        find: 'look([...nextOpen(known.older), ...nextSettled(settled)])',
        replace: 'look([...nextOpen(known.older), ...nextSettled(settled.slice(0, 0))])',
      },
    ],
    test: windowTests(
      '[S21, R1] includes an older range whose work is open again after a few reads, and no read covers all ranges',
    ),
  },
  {
    id: 'range-dropped-at-once',
    rules: ['S21'],
    breaks: 'A range is left while the last result of its deliveries is not applied yet.',
    edits: [{ file: windowFile, find: 'nowMs - atMs > LINGER_MS', replace: 'nowMs - atMs >= 0' }],
    test: windowTests('[S21] keeps a range while its last results may not be applied yet, and then drops it'),
  },
  {
    id: 'plan-for-one-partition',
    rules: ['S21', 'J9'],
    breaks: 'Plans are made for a single partition, of which PostgreSQL 18 reads all rows.',
    edits: [
      {
        file: schema.partitions,
        find: '  IF fresh_to = (SELECT min(border)',
        replace: '  IF false AND fresh_to = (SELECT min(border)',
      },
    ],
    test: testsOf('test/database/work-window.test.ts')(
      '[S21] is the partition of the newest event, and its neighbour near the border',
    ),
  },
  {
    id: 'older-ranges-not-in-turn',
    rules: ['R1', 'J9'],
    breaks: 'Of the older ranges the first few are visited in every round, and the others never.',
    edits: [
      {
        file: windowFile,
        find: 'const start = Math.max(after, 0)',
        replace: 'const start = Math.max(after, 0) * 0',
      },
    ],
    test: testsOf('test/delivery/worker/start-worker.test.ts')(
      '[J9, R1] is claimed from in turn, when there are more than are visited in one round',
    ),
  },
  {
    id: 'results-of-all-ranges-at-once',
    rules: ['S18', 'S21'],
    breaks: 'A batch of results has those of all ranges, and its statement only the partitions of the first.',
    edits: [
      {
        file: 'src/delivery/orchestrator/apply-results.ts',
        find: 'return from === range.from && to === range.to',
        replace: 'return from === range.from || to === to',
      },
    ],
    test: testsOf('test/delivery/orchestrator/result-queue.test.ts')(
      '[S18, S21] are applied range by range, also when one row has events of two',
    ),
  },
  {
    id: 'due-range-left-behind',
    rules: ['S16', 'R1'],
    breaks: 'The orchestrator sees what is due in an older range, and does not work there.',
    edits: [
      {
        file: 'src/delivery/orchestrator/start-orchestrator.ts',
        find: '[...dueOlder, ...(told ? nextOlder(older) : [])]',
        replace: '(told ? nextOlder(older) : [])',
      },
    ],
    test: testsOf('test/delivery/orchestrator/start-orchestrator.test.ts')(
      '[S16, R1] finds what is due in one of %i quiet older ranges',
    ),
  },
  {
    id: 'range-lost-at-the-border',
    rules: ['S21', 'J9'],
    breaks: 'A range that leaves the fresh one with open work is found again when its turn comes.',
    edits: [{ file: windowFile, find: 'if (known && BigInt', replace: 'if (false && known && BigInt' }],
    test: windowTests(
      '[S21, J9] includes a range that leaves the fresh one with open work at the very next read',
    ),
  },
  {
    id: 'switch-forgotten-by-the-window',
    rules: ['U5'],
    breaks: 'A switch is forgotten while something is held in a range that is not in the window.',
    edits: [
      {
        file: 'src/delivery/worker/read-switches.ts',
        find: 'of newestRanges(window))',
        replace: 'of [window.fresh, ...window.older])',
      },
    ],
    test: testsOf('test/delivery/worker/stopped-while-waiting.test.ts')(
      '[U5] a deactivation is not forgotten while a job is held in a range that the window does not have yet',
    ),
  },
  {
    id: 'idle-worker-polls-older-ranges',
    rules: ['J9'],
    breaks: 'While an older range has open work, a worker with nothing to do looks twenty times a second.',
    edits: [
      {
        file: 'src/delivery/worker/start-worker.ts',
        find: 'if (olderLeft > 0 && lanes',
        replace: 'if (lanes',
      },
    ],
    test: testsOf('test/delivery/worker/start-worker.test.ts')('[J9] costs an idle worker only its polls'),
  },
]
