import type { Mutant } from '../mutant.js'
import { testsOf } from './named-tests.js'

const partitionTests = testsOf('test/schema/partitions.test.ts')
const readsFile = 'migrations/0043_many_partitions.sql'

/** What works with three partitions and fails with more. */
export const partitions: readonly Mutant[] = [
  {
    id: 'later-partitions-unreadable',
    rules: ['O7'],
    breaks: 'The role of the workers may not compute a check that only the later partitions have.',
    edits: [
      {
        file: readsFile,
        find: 'TO router_worker, saga_orchestrator, job_worker;',
        replace: 'TO router_worker, saga_orchestrator;',
      },
    ],
    test: partitionTests('[O7] that are made later can be read by every role that reads events'),
  },
]
