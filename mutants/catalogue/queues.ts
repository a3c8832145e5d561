import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, resultQueue, rights, routingQueue } from './named-tests.js'

const applyFile = 'src/delivery/orchestrator/apply-results.ts'
const routeFile = 'src/delivery/router/route-events.ts'
const cutFile = 'src/database/cut-batch.ts'

const endedByHand = resultQueue('[S13, S17, S18] a job that is ended by hand %s is applied: %s %s')
const resultsCut = resultQueue(
  '[S13] a mixture of single and full rows is cut to a batch, and nothing is lost',
)
const eventsCut = routingQueue(
  '[R1, R3] a mixture of single and full rows is cut to a batch, and nothing is lost',
)
const allTypes = routingQueue(
  '[R1, R2] events of many types in one statement are all routed, each by its type and with its correlation id',
)

/** The queues whose rows hold many: how they are filled, taken, cut and emptied. */
export const queues: readonly Mutant[] = [
  {
    id: 'results-not-queued',
    rules: ['S13', 'S17', 'S18'],
    breaks: 'Nothing tells the orchestrator of results.',
    edits: [
      {
        file: schema.jobs,
        find: `CREATE TRIGGER job_enqueue_results
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_results();
`,
        replace: '',
      },
      { file: schema.jobs, find: ',\n  ENABLE ALWAYS TRIGGER job_enqueue_results;', replace: ';' },
    ],
    test: endedByHand,
  },
  {
    id: 'results-of-partitions-not-queued',
    rules: ['S13', 'S17', 'S18'],
    breaks: 'Jobs that are ended in their partition directly are never applied.',
    edits: [
      {
        file: schema.partitions,
        append: 'DROP TRIGGER job_enqueue_results ON sagapost.webhook_delivery_jobs_from_0;',
      },
    ],
    test: endedByHand,
  },
  {
    id: 'results-of-later-partitions-not-queued',
    rules: ['S13', 'R1'],
    breaks:
      'Partitions that are made after the last migration come without the triggers that fill the queues.',
    edits: [
      {
        file: schema.partitions,
        find: '  PERFORM sagapost.add_statement_triggers(parent, partition);\n',
        replace: '',
      },
    ],
    test: guards('[E2, R1] a partition that is made later has the guards of its table, too'),
  },
  {
    id: 'results-lost-under-replication',
    rules: ['S13'],
    breaks:
      'The trigger that queues results is an ordinary one, which session_replication_role switches off.',
    edits: [
      {
        file: schema.jobs,
        find: ',\n  ENABLE ALWAYS TRIGGER job_enqueue_results;',
        replace: ';',
      },
    ],
    test: guards('[S5, J12] session_replication_role switches no guard off, on no table and no partition'),
  },
  {
    id: 'failures-not-queued',
    rules: ['S17'],
    breaks: 'Only successes are queued: a delivery whose job failed stays InProgress.',
    edits: [
      {
        file: schema.jobs,
        find: `FROM changed WHERE status IN ('Completed', 'Failed')) AS finished`,
        replace: `FROM changed WHERE status = 'Completed') AS finished`,
      },
    ],
    test: endedByHand,
  },
  {
    id: 'claims-queued-as-results',
    rules: ['J12', 'J8'],
    breaks: 'Every change of a job is queued, as if it were a result.',
    edits: [
      {
        file: schema.jobs,
        find: `FROM changed WHERE status IN ('Completed', 'Failed')) AS finished`,
        replace: 'FROM changed) AS finished',
      },
    ],
    test: resultQueue('[J12, J8] gets no row for a claim or a released lease, not even beside a result'),
  },
  {
    id: 'only-the-first-row-queued',
    rules: ['S13', 'S17'],
    breaks: 'Of the results that one statement reports, only the first row of them is queued.',
    edits: [
      {
        file: schema.jobs,
        find: '  GROUP BY part ORDER BY part;\n  RETURN NULL;',
        replace: '  GROUP BY part ORDER BY part LIMIT 1;\n  RETURN NULL;',
      },
    ],
    test: resultQueue('[S13, S17] results of one statement fill rows of at most 50, and each is counted'),
  },
  {
    id: 'result-of-a-running-job',
    rules: ['S13', 'S17'],
    breaks: 'A job that is queued counts as failed, though it has not ended.',
    edits: [{ file: applyFile, find: ` AND job.status::text IN ('Completed', 'Failed')`, replace: '' }],
    test: resultQueue('[S13, S17] a job that has not ended counts nothing, however it was queued'),
  },
  {
    id: 'results-stay-queued',
    rules: ['S4'],
    breaks: 'The deliveries move, but their results stay in the queue.',
    edits: [
      {
        file: applyFile,
        find: 'DELETE FROM sagapost.delivery_result_queue WHERE id = ANY ($3::bigint[])',
        replace: 'SELECT FROM sagapost.delivery_result_queue WHERE id = ANY ($3::bigint[])',
      },
    ],
    test: resultQueue('[S13, S17] results of one statement fill rows of at most 50, and each is counted'),
  },
  {
    id: 'results-gone-before-the-moves',
    rules: ['S4', 'S17'],
    breaks: 'Results leave the queue in a transaction of their own, before their deliveries move.',
    edits: [
      {
        file: applyFile,
        find: '      queueIds = batch.map(({ id }) => id)\n',
        replace: `      queueIds = batch.map(({ id }) => id)
      await client.query('DELETE FROM sagapost.delivery_result_queue WHERE id = ANY ($1::bigint[])', [queueIds])
      await client.query('COMMIT')
      await client.query('BEGIN')
`,
      },
    ],
    test: resultQueue('[S4, S17, D3] a row is removed with all its moves or not at all'),
  },
  {
    id: 'results-applied-by-two',
    rules: ['S13', 'S4'],
    breaks: 'Orchestrators do not lock the results that they apply.',
    edits: [{ file: applyFile, find: '\n  FOR UPDATE SKIP LOCKED`)', replace: '`)' }],
    test: resultQueue('[S13, S4] passes over rows that another orchestrator has locked, and takes the next'),
  },
  {
    id: 'orchestrator-waits-for-others',
    rules: ['S13'],
    breaks: 'An orchestrator waits for the results that another one applies, instead of passing over them.',
    edits: [{ file: applyFile, find: '\n  FOR UPDATE SKIP LOCKED`)', replace: '\n  FOR UPDATE`)' }],
    test: resultQueue('[S13, S4] passes over rows that another orchestrator has locked, and takes the next'),
  },
  {
    id: 'cut-results-are-gone',
    rules: ['S13', 'S17'],
    breaks: 'Rows that a batch had no room for leave the queue with it, and their results are not counted.',
    edits: [
      {
        file: applyFile,
        find: '    const { batch, more } = cutBatch(rows, batchMax)',
        replace: `    const { batch, more } = cutBatch(rows, batchMax)
    await client.query('DELETE FROM sagapost.delivery_result_queue WHERE id = ANY ($1::bigint[])', [
      rows.filter((row) => !batch.includes(row)).map(({ id }) => id),
    ])`,
      },
    ],
    test: resultsCut,
  },
  {
    id: 'range-of-the-first-row',
    rules: ['S13', 'S21'],
    breaks: 'The partitions are chosen by the first event of a row: results of its other events are lost.',
    edits: [
      {
        file: applyFile,
        find: 'return first.from === last.from ? first : { from: first.from, to: last.to }',
        replace: 'return first.from === last.from ? first : first',
      },
    ],
    test: resultQueue('[S18, S21] are applied range by range, also when one row has events of two'),
  },
  {
    id: 'large-row-never-taken',
    rules: ['R1', 'S13'],
    breaks: 'A row that holds more than a batch may is never taken, and everything behind it waits for ever.',
    edits: [
      {
        file: cutFile,
        find: 'return index === 0 || entries <= entriesMax',
        replace: 'return index < taken.length && entries <= entriesMax',
      },
    ],
    test: routingQueue('[R1] a row that is larger than the batch is taken whole'),
  },
  {
    id: 'cut-batch-counts-as-the-last',
    rules: ['R1'],
    breaks: 'A batch that was cut counts as the last one of its queue, and the next is not requested.',
    edits: [
      {
        file: cutFile,
        find: 'more: batch.length < taken.length || taken.length === taken[0]?.rows_max',
        replace: 'more: taken.length === taken[0]?.rows_max',
      },
    ],
    test: eventsCut,
  },
  {
    id: 'orchestrator-may-write-results',
    rules: ['S20', 'S8'],
    breaks: 'The orchestrator’s role may put results into the queue, and change which jobs a row names.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT, UPDATE (enqueued_at), DELETE ON sagapost.delivery_result_queue TO saga_orchestrator;',
        replace:
          'GRANT SELECT, INSERT, UPDATE, DELETE ON sagapost.delivery_result_queue TO saga_orchestrator;',
      },
    ],
    test: rights,
  },
  {
    id: 'worker-may-empty-the-results',
    rules: ['J7', 'S6'],
    breaks: 'The worker’s role may read and delete what waits for the orchestrator.',
    edits: [
      {
        file: schema.grants,
        find: 'DELETE ON sagapost.delivery_result_queue TO saga_orchestrator;',
        replace: 'DELETE ON sagapost.delivery_result_queue TO saga_orchestrator, job_worker;',
      },
    ],
    test: rights,
  },
  {
    id: 'router-may-write-events',
    rules: ['R4'],
    breaks: 'The router’s role may change which events a row of its queue names.',
    edits: [
      {
        file: schema.grants,
        find: 'UPDATE (id, enqueued_at, routed_events, last_subscription_id), DELETE',
        replace: 'UPDATE (id, event_ids, enqueued_at, routed_events, last_subscription_id), DELETE',
      },
    ],
    test: rights,
  },
  {
    id: 'types-share-a-row',
    rules: ['R2'],
    breaks: 'Events of several types that are stored at once are queued, and routed, as if they were of one.',
    edits: [
      {
        file: schema.routing,
        find: 'SELECT event_type, array_agg(id), CASE',
        replace: 'SELECT min(event_type), array_agg(id), CASE',
      },
      {
        file: schema.routing,
        find: '(row_number() OVER (PARTITION BY event_type) - 1)',
        replace: '(row_number() OVER () - 1)',
      },
      {
        file: schema.routing,
        find: 'GROUP BY event_type, part ORDER BY min(id)',
        replace: 'GROUP BY part ORDER BY min(id)',
      },
    ],
    test: allTypes,
  },
  {
    id: 'correlation-ids-shifted',
    rules: ['R2', 'J11'],
    breaks: 'Events without a correlation id get that of the next one which was stored with them.',
    edits: [
      {
        file: schema.routing,
        find: 'CASE WHEN count(correlation_id) > 0 THEN array_agg(correlation_id) END',
        replace: 'array_agg(correlation_id) FILTER (WHERE correlation_id IS NOT NULL)',
      },
    ],
    test: allTypes,
  },
  {
    id: 'routers-take-the-same',
    rules: ['R1', 'R3'],
    breaks: 'Routers do not lock the events that they take.',
    edits: [{ file: routeFile, find: '\n  FOR UPDATE SKIP LOCKED`)', replace: '`)' }],
    test: routingQueue(
      '[R1, R3] a router passes over rows that another router has locked, and takes the next',
    ),
  },
  {
    id: 'events-routed-for-ever',
    rules: ['R3'],
    breaks: 'Routed events stay in the queue when their batch has several rows.',
    edits: [
      {
        file: 'src/delivery/router/make-sagas.ts',
        find: 'WHERE id = ANY ($1::bigint[])',
        replace: 'WHERE id = ($1::bigint[])[1]',
      },
    ],
    test: routingQueue('[R1] events of one statement fill rows of at most 50, and each is routed'),
  },
  {
    id: 'cut-events-are-gone',
    rules: ['R1', 'R3'],
    breaks: 'Rows that a batch had no room for leave the queue with it, and their events are not routed.',
    edits: [
      {
        file: routeFile,
        find: 'const queueIds = batch.map(({ id }) => id)',
        replace: 'const queueIds = taken.map(({ id }) => id)',
      },
    ],
    test: eventsCut,
  },
]
