import type { Mutant } from '../mutant.js'
import { schema } from './migration-files.js'
import { guards, orchestrate, resultQueue, rights, tables, testsOf, transitions } from './named-tests.js'

const jobTests = testsOf('test/delivery/worker/jobs.test.ts')
const claimFile = 'src/delivery/worker/claim-jobs.ts'
const reportFile = 'src/delivery/worker/report-results.ts'
const resetFile = 'src/delivery/cleaner/reset-leases.ts'

const endsOnce = resultQueue('[J12, S4] a job that has ended gets no second result, %s')

/** Jobs: their table and guards, claims, reports, lost leases. */
export const jobs: readonly Mutant[] = [
  {
    id: 'job-error-code-shorter',
    rules: ['J1'],
    breaks: 'The error code of a job has room for 64 characters instead of 100.',
    edits: [
      {
        file: schema.jobs,
        find: 'error_code       varchar(100),\n  -- What the receiver asked for',
        replace: 'error_code       varchar(64),\n  -- What the receiver asked for',
      },
    ],
    test: tables,
  },
  {
    id: 'job-attempt-key-not-unique',
    rules: ['J2'],
    breaks: 'Two jobs of one delivery may have the same time of attempt.',
    edits: [
      {
        file: schema.jobs,
        find: 'CREATE UNIQUE INDEX uniq_job_saga_attempt',
        replace: 'CREATE INDEX uniq_job_saga_attempt',
      },
    ],
    test: guards('[J2] one job for a delivery at one time'),
  },
  {
    id: 'job-given-to-another-saga',
    rules: ['J3'],
    breaks: 'The delivery that a job belongs to can be changed.',
    edits: [
      {
        file: schema.jobs,
        find: `(OLD.id, OLD.saga_id, OLD.event_id, OLD.subscription_id, OLD.attempt_at, OLD.attempt, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.saga_id, NEW.event_id,`,
        replace: `(OLD.id, OLD.event_id, OLD.subscription_id, OLD.attempt_at, OLD.attempt, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id,`,
      },
    ],
    test: guards('[J3] %s of a job, along with a legal move'),
  },
  {
    id: 'payload-written-anew',
    rules: ['J3', 'E1'],
    breaks: 'The worker parses the payload and sends what it writes of it, not the bytes that were stored.',
    edits: [
      {
        file: 'src/delivery/worker/translate-job.ts',
        find: 'body: Buffer.from(payload)',
        replace: 'body: Buffer.from(JSON.stringify(JSON.parse(payload)))',
      },
    ],
    test: testsOf('test/runtime/deliver.test.ts')(
      '[S7, S18, J6, E1, R2] every event arrives once, signed and byte for byte, and its delivery is Completed',
    ),
  },
  {
    id: 'retry-job-numbered-as-the-last',
    rules: ['J3', 'S16'],
    breaks: 'A retry’s job has the number of the attempt before.',
    edits: [
      {
        file: 'src/delivery/orchestrator/make-jobs.ts',
        find: 'attempt_count + 1 FROM decided WHERE retry',
        replace: 'attempt_count FROM decided WHERE retry',
      },
    ],
    test: orchestrate('[S10, S12] a retry gets its job when it is due and not before'),
  },
  {
    id: 'claim-without-lock',
    rules: ['J4'],
    breaks: 'Workers do not lock the jobs that they claim, and do not pass over locked ones.',
    edits: [
      {
        file: claimFile,
        find: 'ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED',
        replace: 'ORDER BY lease_until LIMIT $3',
      },
    ],
    test: jobTests('[J4] a claim passes over a job that another worker has locked'),
  },
  {
    id: 'claim-waits-for-others',
    rules: ['J4'],
    breaks: 'A claim waits for the rows that another worker has locked, instead of passing over them.',
    edits: [
      {
        file: claimFile,
        find: 'ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED',
        replace: 'ORDER BY lease_until LIMIT $3 FOR UPDATE',
      },
    ],
    test: jobTests('[J4] a claim passes over a job that another worker has locked'),
  },
  {
    id: 'lease-from-when-the-job-was-free',
    rules: ['J4'],
    breaks: 'A lease begins when the job became free, so that one that waited long is lost at once.',
    edits: [
      {
        file: claimFile,
        find: `lease_until = sagapost.now() + $4 * interval '1 millisecond'`,
        replace: `lease_until = lease_until + $4 * interval '1 millisecond'`,
      },
    ],
    test: jobTests('[J4, J3] leases the job at once, with the payload and the address of its one attempt'),
  },
  {
    id: 'fencing-off',
    rules: ['J5'],
    breaks: 'A report need not have the token of the lease that the job is under.',
    edits: [
      {
        file: reportFile,
        find: 'AND job.lease_token = result.token',
        replace: '',
      },
    ],
    test: jobTests('[J5] under a lease that was lost is refused and changes nothing'),
  },
  {
    id: 'lease-token-kept',
    rules: ['J5'],
    breaks: 'A job that was claimed before keeps its token, which the worker before still has.',
    edits: [
      {
        file: claimFile,
        find: 'lease_token = $9',
        replace: 'lease_token = coalesce(lease_token, $9)',
      },
    ],
    test: jobTests('[J5] under a lease that was lost is refused and changes nothing'),
  },
  {
    id: 'report-accepted-before-commit',
    rules: ['J5', 'J10'],
    breaks: 'A worker takes its report for accepted before the database has said so.',
    edits: [
      {
        file: 'src/delivery/worker/report-batcher.ts',
        find: 'const accepted = await reportResults(pool, range, reports)',
        replace: `for (const { resolve } of batch) resolve(true)
      const accepted = await reportResults(pool, rangeAround(reports.map(({ eventId }) => eventId)), reports)`,
      },
    ],
    test: testsOf('test/delivery/worker/start-worker.test.ts')(
      '[J5] whose lease was lost meanwhile is refused, and counted as refused',
    ),
  },
  {
    id: 'redirect-is-success',
    rules: ['J6'],
    breaks: 'A redirect counts as delivered.',
    edits: [
      {
        file: 'src/webhook/send-request.ts',
        find: 'status >= 200 && status < 300',
        replace: 'status >= 200 && status < 400',
      },
    ],
    test: testsOf('test/webhook/send.test.ts')(
      '[J6] of status %i is a failure with that status, redirects not followed',
    ),
  },
  {
    id: 'failure-without-status',
    rules: ['J6'],
    breaks: 'The response’s status is kept of successes only.',
    edits: [
      {
        file: reportFile,
        find: 'response_status = result.response_status,',
        replace: 'response_status = CASE WHEN result.error_code IS NULL THEN result.response_status END,',
      },
    ],
    test: jobTests('[J6] completes or fails the job, with the response'),
  },
  {
    id: 'worker-may-make-jobs',
    rules: ['J7'],
    breaks: 'The worker’s role may insert jobs.',
    edits: [
      {
        file: schema.grants,
        find: `GRANT SELECT,
  UPDATE (status, lease_until, lease_token,`,
        replace: `GRANT SELECT, INSERT,
  UPDATE (status, lease_until, lease_token,`,
      },
    ],
    test: rights,
  },
  {
    id: 'running-lease-reset',
    rules: ['J8'],
    breaks: 'The cleaner resets leases that have up to a minute left.',
    edits: [
      {
        file: resetFile,
        find: 'lease_until < sagapost.now() AND',
        replace: `lease_until < sagapost.now() + interval '1 minute' AND`,
      },
    ],
    test: jobTests('[J8] sets a job back when its lease has run out, not before, and once'),
  },
  {
    id: 'lost-leases-not-counted',
    rules: ['J8'],
    breaks: 'A lost lease is not counted: a payload that kills workers does so for ever.',
    edits: [
      {
        file: resetFile,
        find: 'lease_resets = lease_resets + 1,',
        replace: 'lease_resets = greatest(lease_resets, 1),',
      },
    ],
    test: jobTests('[J8] fails a job whose lease was lost three times'),
  },
  {
    id: 'cleaners-reset-twice',
    rules: ['J8'],
    breaks: 'Cleaners do not lock what they reset: of two at once, the second resets again or fails.',
    edits: [
      {
        file: resetFile,
        find: 'ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED',
        replace: 'ORDER BY lease_until LIMIT $3',
      },
    ],
    test: jobTests('[J8] a cleaner passes over a job that another cleaner has locked'),
  },
  {
    id: 'claim-by-a-scan',
    rules: ['J9'],
    breaks: 'The claim compares the status as text, which no index serves.',
    edits: [{ file: claimFile, find: `WHERE status = 'Pending'`, replace: `WHERE status::text = 'Pending'` }],
    test: testsOf('test/delivery/worker/claim-cost.test.ts')(
      '[J9] a claim reads only its batch, however large the backlog that the statistics miss',
    ),
  },
  {
    id: 'claim-before-its-time',
    rules: ['J4', 'J9'],
    breaks: 'A job is claimed before the time from which it may be.',
    edits: [
      {
        file: claimFile,
        find: 'lease_until <= sagapost.now() AND lease_until >= $7',
        replace: 'lease_until >= $7',
      },
    ],
    test: jobTests('[J4, J9] a Pending job is not claimed before its lease_until'),
  },
  {
    id: 'report-not-waited-for',
    rules: ['J10'],
    breaks: 'The commit of reports does not wait for the disk.',
    edits: [
      {
        file: reportFile,
        find: '  RETURNING job.id`)',
        replace: `  RETURNING job.id, set_config('synchronous_commit', 'off', true)\`)`,
      },
    ],
    test: testsOf('test/database/durability.slow.test.ts')(
      '[S22, J10] reported and applied results survive a kill of the server',
    ),
  },
  {
    id: 'dead-letter-of-the-first-job',
    rules: ['J11'],
    breaks: 'A dead letter names the first job of its delivery, not the last.',
    edits: [
      {
        file: schema.deadLetters,
        find: 'ORDER BY attempt DESC, attempt_at DESC LIMIT 1',
        replace: 'ORDER BY attempt, attempt_at LIMIT 1',
      },
    ],
    test: resultQueue('[J11, S17] a dead letter names the last job of its delivery'),
  },
  {
    id: 'job-done-without-a-lease',
    rules: ['J12'],
    breaks: 'The guard lets a job go from Pending straight to Completed.',
    edits: [
      {
        file: schema.jobs,
        find: `(OLD.status = 'Pending' AND NEW.status = 'Leased')`,
        replace: `(OLD.status = 'Pending' AND NEW.status IN ('Leased', 'Completed'))`,
      },
    ],
    test: transitions("[J12] ${from} → ${to} is ${legal ? 'made' : 'refused'}"),
  },
  {
    id: 'finished-job-can-be-rewritten',
    rules: ['J12'],
    breaks: 'What a job that has ended came to can be changed while its status stays.',
    edits: [
      {
        file: schema.jobs,
        find: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed'))`,
        replace: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed') AND OLD.status <> NEW.status)`,
      },
    ],
    test: endsOnce,
  },
  {
    id: 'failed-job-can-be-set-free',
    rules: ['J12', 'S4'],
    breaks: 'Only Completed jobs are frozen: one that has failed can be set free, and fail again.',
    edits: [
      {
        file: schema.jobs,
        find: `FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed'))`,
        replace: `FOR EACH ROW WHEN (OLD.status = 'Completed')`,
      },
    ],
    test: endsOnce,
  },
  {
    id: 'finished-guard-missing',
    rules: ['J12', 'S4'],
    breaks: 'There is no guard on jobs that have ended.',
    edits: [
      {
        file: schema.jobs,
        find: `CREATE TRIGGER job_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or Failed job never changes');
`,
        replace: '',
      },
      { file: schema.jobs, find: '  ENABLE ALWAYS TRIGGER job_final_is_frozen,\n', replace: '' },
    ],
    test: endsOnce,
  },
  {
    id: 'job-released-by-anybody',
    rules: ['J12', 'J5'],
    breaks: 'A worker gives back a job that another one holds meanwhile.',
    edits: [
      {
        file: 'src/delivery/worker/release-jobs.ts',
        find: 'job.lease_token = held.token AND ',
        replace: '',
      },
    ],
    test: jobTests('[J12] a released job is free at once, and only its holder can release it'),
  },
]
