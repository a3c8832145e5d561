import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, orchestrate, plans, rights, tables, testsOf, transitions } from './named-tests.js'

const makeJobsFile = 'src/delivery/orchestrator/make-jobs.ts'

/** The delivery saga's table, its guards, its role, and the making of jobs. */
export const sagaMoves: readonly Mutant[] = [
  {
    id: 'saga-error-code-shorter',
    rules: ['S1'],
    breaks: 'The error code of a delivery has room for 50 characters instead of 100.',
    edits: [
      {
        file: schema.deliveries,
        find: 'final_error_code varchar(100),\n  created_at       timestamptz              NOT NULL',
        replace: 'final_error_code varchar(50),\n  created_at       timestamptz              NOT NULL',
      },
    ],
    test: tables,
  },
  {
    id: 'saga-retry-index-turned-round',
    rules: ['S2'],
    breaks: 'The index idx_saga_status_retry has its two columns in the other order.',
    edits: [
      {
        file: schema.deliveries,
        find: 'CREATE INDEX idx_saga_status_retry ON sagapost.webhook_delivery_sagas (status, next_attempt_at)',
        replace:
          'CREATE INDEX idx_saga_status_retry ON sagapost.webhook_delivery_sagas (next_attempt_at, status)',
      },
    ],
    test: tables,
  },
  {
    id: 'saga-key-not-unique',
    rules: ['S3', 'R3'],
    breaks: 'The key of event and subscription is an index like any other: two sagas fit.',
    edits: [
      {
        file: schema.deliveries,
        find: `CREATE UNIQUE INDEX uniq_saga_event_subscription ON sagapost.webhook_delivery_sagas
  (event_id, subscription_id, requeued_from) NULLS NOT DISTINCT`,
        replace: `CREATE INDEX uniq_saga_event_subscription ON sagapost.webhook_delivery_sagas
  (event_id, subscription_id, requeued_from)`,
      },
    ],
    test: guards('[S3] one routed delivery for an event and a subscription'),
  },
  {
    id: 'saga-key-without-requeued',
    rules: ['S2', 'S21'],
    breaks:
      'The key of event and subscription leaves requeued sagas out: a look-up without its predicate scans.',
    edits: [
      {
        file: schema.deliveries,
        find: '(event_id, subscription_id, requeued_from) NULLS NOT DISTINCT;',
        replace: '(event_id, subscription_id, requeued_from) NULLS NOT DISTINCT WHERE requeued_from IS NULL;',
      },
    ],
    test: tables,
  },
  {
    id: 'saga-skips-in-progress',
    rules: ['S5'],
    breaks: 'The guard lets a delivery go from Pending straight to Completed.',
    edits: [
      {
        file: schema.deliveries,
        find: `(OLD.status = 'Pending' AND NEW.status = 'InProgress')`,
        replace: `(OLD.status = 'Pending' AND NEW.status IN ('InProgress', 'Completed'))`,
      },
    ],
    test: transitions("[S5, S6] ${from} → ${to} is ${legal ? 'made' : 'refused'}"),
  },
  {
    id: 'saga-begins-with-attempts',
    rules: ['S5'],
    breaks: 'A delivery may be inserted with attempts that were never made.',
    edits: [
      {
        file: schema.deliveries,
        find: `NEW.status <> 'Pending' OR NEW.attempt_count <> 0 OR NEW.final_error_code IS NOT NULL`,
        replace: `NEW.status <> 'Pending' OR NEW.final_error_code IS NOT NULL`,
      },
    ],
    test: guards('[S5] of a delivery is Pending with 0 attempts and no error, for every role'),
  },
  {
    id: 'saga-moved-to-another-subscription',
    rules: ['S5'],
    breaks: 'The subscription of a delivery under way can be changed.',
    edits: [
      {
        file: schema.deliveries,
        find: `(OLD.id, OLD.event_id, OLD.subscription_id, OLD.requeued_from, OLD.created_at, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id, NEW.subscription_id, NEW.requeued_from, NEW.created_at, NEW.correlation_id))`,
        replace: `(OLD.id, OLD.event_id, OLD.requeued_from, OLD.created_at, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id, NEW.requeued_from, NEW.created_at, NEW.correlation_id))`,
      },
    ],
    test: guards('[S5] %s of a delivery, along with a legal move'),
  },
  {
    id: 'worker-may-move-sagas',
    rules: ['S6', 'J7'],
    breaks: 'The worker’s role may change the status of a delivery.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT (headers) ON sagapost.subscriptions TO job_worker;',
        replace: `GRANT SELECT (headers) ON sagapost.subscriptions TO job_worker;
GRANT UPDATE (status, updated_at) ON sagapost.webhook_delivery_sagas TO job_worker;`,
      },
    ],
    test: rights,
  },
  {
    id: 'requeued-saga-gets-no-job',
    rules: ['S7', 'S19'],
    breaks: 'First jobs are made for routed deliveries only: a requeued one waits for ever.',
    edits: [
      {
        file: makeJobsFile,
        find: `WHERE status = 'Pending' AND (event_id >= $1`,
        replace: `WHERE status = 'Pending' AND requeued_from IS NULL AND (event_id >= $1`,
      },
    ],
    test: orchestrate('[S7, S19] a requeued delivery gets its first job like any other, the dead one none'),
  },
  {
    id: 'orchestrator-reads-payloads',
    rules: ['S8'],
    breaks: 'The orchestrator’s role may read the payload of events.',
    edits: [
      {
        file: schema.grants,
        find: 'GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO saga_orchestrator;',
        replace: 'GRANT SELECT ON sagapost.events TO saga_orchestrator;',
      },
    ],
    test: rights,
  },
  {
    id: 'orchestrator-handles-leases',
    rules: ['S8', 'J7'],
    breaks: 'The orchestrator’s role may lengthen and end leases.',
    edits: [
      {
        file: schema.grants,
        append: 'GRANT UPDATE (status, lease_until) ON sagapost.webhook_delivery_jobs TO saga_orchestrator;',
      },
    ],
    test: rights,
  },
  {
    id: 'second-job-beside-a-leased-one',
    rules: ['S9'],
    breaks: 'The key of the one active job forgets jobs that are leased.',
    edits: [
      {
        file: schema.jobs,
        find: `uniq_job_saga_active ON sagapost.webhook_delivery_jobs (saga_id, event_id)
  WHERE status IN ('Pending', 'Leased');`,
        replace: `uniq_job_saga_active ON sagapost.webhook_delivery_jobs (saga_id, event_id)
  WHERE status = 'Pending';`,
      },
    ],
    test: guards('[S9] no second job while one is %s, and another one after it'),
  },
  {
    id: 'retry-guard-forgets-the-time',
    rules: ['S10'],
    breaks: 'The database lets a retry begin before its time.',
    edits: [{ file: schema.deliveries, find: ' AND OLD.next_attempt_at <= sagapost.now())', replace: ')' }],
    test: transitions('[S10] a delivery that waits for its retry is not taken up before it is due'),
  },
  {
    id: 'retry-asked-for-too-early',
    rules: ['S10', 'S12'],
    breaks: 'The orchestrator takes up retries a second before they are due.',
    edits: [
      {
        file: makeJobsFile,
        find: 'next_attempt_at <= sagapost.now()',
        replace: `next_attempt_at <= sagapost.now() + interval '1 second'`,
      },
    ],
    test: orchestrate('[S10, S12] a retry gets its job when it is due and not before'),
  },
  {
    id: 'terminal-guard-missing',
    rules: ['S11'],
    breaks: 'There is no guard on finished deliveries at all.',
    edits: [
      {
        file: schema.deliveries,
        find: `CREATE TRIGGER saga_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or DeadLettered delivery never changes');
`,
        replace: '',
      },
      { file: schema.deliveries, find: '  ENABLE ALWAYS TRIGGER saga_final_is_frozen,\n', replace: '' },
    ],
    test: guards('[S11] a %s delivery'),
  },
  {
    id: 'terminal-guard-forgets-dead-letters',
    rules: ['S11', 'S19'],
    breaks: 'Only Completed deliveries are frozen; a dead one can be changed.',
    edits: [
      {
        file: schema.deliveries,
        find: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))`,
        replace: `FOR EACH ROW WHEN (OLD.status = 'Completed')`,
      },
    ],
    test: guards('[S11] a %s delivery'),
  },
  {
    id: 'terminal-guard-allows-touching',
    rules: ['S11'],
    breaks: 'The updated_at of a finished delivery may still move.',
    edits: [
      {
        file: schema.deliveries,
        find: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))`,
        replace: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered')
    AND to_jsonb(OLD) - 'updated_at' IS DISTINCT FROM to_jsonb(NEW) - 'updated_at')`,
      },
    ],
    test: guards('[S11] a %s delivery'),
  },
  {
    id: 'guard-dropped-on-one-partition',
    rules: ['S11', 'S5'],
    breaks: 'On one partition of three, the guard of finished deliveries is switched off.',
    edits: [
      {
        file: schema.partitions,
        append:
          'ALTER TABLE sagapost.webhook_delivery_sagas_from_1000000 DISABLE TRIGGER saga_final_is_frozen;',
      },
    ],
    test: guards('[E2] every partition has the guards of its table'),
  },
  {
    id: 'guards-off-under-replication',
    rules: ['S5', 'J12'],
    breaks: 'A guard is an ordinary trigger, which session_replication_role switches off.',
    edits: [
      {
        file: schema.jobs,
        find: '  ENABLE ALWAYS TRIGGER job_moves_legally,\n',
        replace: '',
      },
    ],
    test: guards('[S5, J12] session_replication_role switches no guard off, on no table and no partition'),
  },
  {
    id: 'one-retry-too-many',
    rules: ['S12', 'S15'],
    breaks: 'A delivery that has reached its limit is retried once more.',
    edits: [
      {
        file: makeJobsFile,
        find: 'attempt_count < coalesce(max_attempts, $4) AS retry',
        replace: 'attempt_count <= coalesce(max_attempts, $4) AS retry',
      },
    ],
    test: orchestrate(
      '[S15, J11] a limit lowered while a delivery waits takes effect at its next decision, which names the last job',
    ),
  },
  {
    id: 'job-for-a-dead-saga',
    rules: ['S16', 'S19'],
    breaks: 'A delivery that ends at its limit gets a job all the same.',
    edits: [
      {
        file: makeJobsFile,
        find: 'attempt_count + 1 FROM decided WHERE retry',
        replace: 'attempt_count + 1 FROM decided',
      },
    ],
    test: orchestrate(
      '[S15, J11] a limit lowered while a delivery waits takes effect at its next decision, which names the last job',
    ),
  },
  {
    id: 'first-jobs-made-by-two',
    rules: ['S16', 'S9'],
    breaks: 'Orchestrators do not lock the deliveries that they make first jobs for.',
    edits: [
      {
        file: makeJobsFile,
        find: '    LIMIT $3 FOR UPDATE SKIP LOCKED',
        replace: '    LIMIT $3',
      },
    ],
    test: orchestrate('[S16, S9] passes over deliveries that another orchestrator has locked'),
  },
  {
    id: 'orchestrator-may-delete-sagas',
    rules: ['S20'],
    breaks: 'The orchestrator’s role may delete deliveries.',
    edits: [
      {
        file: schema.grants,
        find: `GRANT SELECT,
  INSERT (event_id, subscription_id, correlation_id),
  UPDATE (status, attempt_count, next_attempt_at, final_error_code, updated_at)`,
        replace: `GRANT SELECT, DELETE,
  INSERT (event_id, subscription_id, correlation_id),
  UPDATE (status, attempt_count, next_attempt_at, final_error_code, updated_at)`,
      },
    ],
    test: rights,
  },
  {
    id: 'retries-found-by-a-scan',
    rules: ['S21', 'S10'],
    breaks: 'The status of waiting deliveries is compared as text, which no index serves.',
    edits: [
      {
        file: makeJobsFile,
        find: `WHERE status = 'PendingRetry' AND next_attempt_at`,
        replace: `WHERE status::text = 'PendingRetry' AND next_attempt_at`,
      },
    ],
    test: plans('[S21, J9] %s: %s finds its work by %s and touches the hot partition only'),
  },
  {
    id: 'old-partitions-forgotten',
    rules: ['S21', 'R1'],
    breaks: 'Retries that wait in older partitions are not counted as open work.',
    edits: [
      {
        file: schema.partitions,
        find: `
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')`,
        replace: '',
      },
    ],
    test: testsOf('test/database/work-window.test.ts')('[S21, R1] is found until it is done: %s'),
  },
]
