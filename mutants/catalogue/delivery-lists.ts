import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { testsOf } from './named-tests.js'

const listPlans = testsOf('test/schema/list-plans.test.ts')
const bounds = testsOf('test/schema/search-bounds.test.ts')
const ofSubscription = testsOf('test/delivery/reading/of-subscription.test.ts')

const walkFile = 'src/delivery/reading/walk-deliveries.ts'
const openFile = 'src/delivery/reading/list-open-deliveries.ts'

const inView = listPlans(
  '[S21] (InProgress, counted by the view) reads no more than there are, and finds each once',
)
const inSmallSteps = ofSubscription('[S1, S21] are listed completely, however little a page may search: %i')

/** Deliveries by their status: found whole, and with an end to what one page reads. */
export const deliveryLists: readonly Mutant[] = [
  {
    id: 'view-forgets-unapplied-results',
    rules: ['S9', 'S21'],
    breaks: 'The view of deliveries in progress has only those with an active job.',
    edits: [
      {
        file: schema.jobs,
        find: '  FROM sagapost.delivery_result_queue AS queued',
        replace: '  FROM (SELECT * FROM sagapost.delivery_result_queue LIMIT 0) AS queued',
      },
    ],
    test: inView,
  },
  {
    id: 'view-reads-deliveries-by-status',
    rules: ['S9'],
    breaks: 'The view of deliveries in progress reads deliveries by their status.',
    edits: [
      {
        file: schema.jobs,
        find: 'WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND',
        replace: 'WHERE id + 0 = job.saga_id AND',
      },
    ],
    test: inView,
  },
  {
    id: 'completed-walked-without-end',
    rules: ['S21'],
    breaks: 'A page of Completed deliveries reads until it is full, however many others come first.',
    edits: [
      { file: walkFile, find: 'ORDER BY id DESC LIMIT $5', replace: 'ORDER BY id DESC LIMIT $5 * 1000' },
    ],
    test: bounds(
      '[S21] a page of Completed ends after a bounded number of deliveries, and the next one continues there',
    ),
  },
  {
    id: 'short-page-ends-the-list',
    rules: ['S21', 'S1'],
    breaks: 'A page that the search could not fill is the last one.',
    edits: [
      {
        file: 'src/delivery/reading/page-deliveries.ts',
        find: 'examinedTo === null) return page',
        replace: 'rows.length < rowsRead) return page',
      },
    ],
    test: bounds(
      '[S21] a page of Completed ends after a bounded number of deliveries, and the next one continues there',
    ),
  },
  {
    id: 'pending-read-whole',
    rules: ['S21'],
    breaks: 'A page of Pending deliveries reads all that are Pending.',
    edits: [
      { file: openFile, find: 'ORDER BY status LIMIT $4', replace: 'ORDER BY status LIMIT $4 + 1000000' },
    ],
    test: bounds(
      '[S21] a page of Pending ends after a bounded number of deliveries, and the next one continues there',
    ),
  },
  {
    id: 'active-jobs-read-whole',
    rules: ['S21'],
    breaks: 'A page of one subscription reads the active jobs of all others.',
    edits: [
      {
        file: 'src/delivery/reading/list-deliveries-of-subscription.ts',
        find: 'ORDER BY saga_id DESC LIMIT $5',
        replace: 'ORDER BY saga_id DESC LIMIT $5 + 1000000',
      },
    ],
    test: bounds('[S21] a page ends after a bounded number of active jobs, and the next one continues there'),
  },
  {
    id: 'page-goes-beyond-its-search',
    rules: ['S1'],
    breaks: 'A page shows what has an index beyond the point where the search for the others stopped.',
    edits: [
      {
        file: 'src/delivery/reading/list-deliveries-of-subscription.ts',
        find: 'WHERE id >= coalesce(search.examined_to, 0)',
        replace: 'WHERE id >= coalesce(search.examined_to, 0) - 20',
      },
    ],
    test: inSmallSteps,
  },
]
