import type { Invariant } from './invariant.js'

// A job whose attempt the delivery's count has reached is done with: its result was applied. The one above is open:
// Pending, Leased, or finished and not applied yet. Moves of a saga and its jobs are one statement each, so all of these
// hold at any moment, not only when nothing runs.

const inProgressHasOneOpenJob = `
  SELECT saga.id, format('InProgress with %s open jobs', count(job.id)) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.webhook_delivery_jobs AS job
    ON job.saga_id = saga.id AND job.event_id = saga.event_id
      AND job.event_id >= $1 AND job.event_id < $2 AND job.attempt > saga.attempt_count
  WHERE saga.status = 'InProgress' AND saga.event_id >= $1 AND saga.event_id < $2
  GROUP BY saga.id, saga.event_id HAVING count(job.id) <> 1
  LIMIT $3`

const oneActiveJob = `
  SELECT saga_id AS id, format('%s active jobs', count(*)) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_jobs
  WHERE status IN ('Pending', 'Leased') AND event_id >= $1 AND event_id < $2
  GROUP BY saga_id, event_id HAVING count(*) > 1
  LIMIT $3`

const onlyInProgressHasOpenJob = `
  SELECT saga.id, format('%s, but job %s is %s and not applied', saga.status, job.id, job.status) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  JOIN sagapost.webhook_delivery_jobs AS job
    ON job.saga_id = saga.id AND job.event_id = saga.event_id AND job.event_id >= $1 AND job.event_id < $2
    AND (job.attempt > saga.attempt_count OR job.status IN ('Pending', 'Leased'))
  WHERE saga.status <> 'InProgress' AND saga.event_id >= $1 AND saga.event_id < $2
  LIMIT $3`

const pendingIsUntouched = `
  SELECT saga.id, format('Pending with %s attempts, error %L', saga.attempt_count, saga.final_error_code) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  WHERE saga.status = 'Pending' AND saga.event_id >= $1 AND saga.event_id < $2
    AND (saga.attempt_count <> 0 OR saga.final_error_code IS NOT NULL OR EXISTS (
      SELECT FROM sagapost.webhook_delivery_jobs AS job
      WHERE job.saga_id = saga.id AND job.event_id = saga.event_id AND job.event_id >= $1 AND job.event_id < $2))
  LIMIT $3`

// Nothing waits for a time that no setting can have made: 30 days is the longest delay, a day the longest lease. Those
// that are held are the next one's business.
const workIsWithinReach = `
  SELECT id, detail, count(*) OVER () AS total
  FROM (
    SELECT id, format('retries at %s', next_attempt_at) AS detail FROM sagapost.webhook_delivery_sagas
    WHERE status = 'PendingRetry' AND event_id >= $1 AND event_id < $2
      AND next_attempt_at > sagapost.now() + interval '31 days'
    UNION ALL
    SELECT saga_id, format('job %s is %s until %s', id, status, lease_until) FROM sagapost.webhook_delivery_jobs
    WHERE status IN ('Pending', 'Leased') AND event_id >= $1 AND event_id < $2
      AND lease_until > sagapost.now() + interval '2 days'
      AND (status = 'Leased' OR lease_until <> sagapost.held_until(subscription_id))
  ) AS out_of_reach
  LIMIT $3`

// A held job is of an inactive subscription, or of one that workers know to have been switched.
const heldIsLetGo = `
  SELECT job.saga_id AS id, format('job %s is held, and subscription %s is %s', job.id, job.subscription_id,
           CASE WHEN subscription.active THEN 'active' ELSE 'deleted' END) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_jobs AS job
  JOIN sagapost.subscriptions AS subscription ON subscription.id = job.subscription_id
  WHERE job.status = 'Pending'
    AND job.event_id >= $1 AND job.event_id < $2 AND job.lease_until = sagapost.held_until(job.subscription_id)
    AND (subscription.active OR subscription.deleted_at IS NOT NULL)
    AND NOT EXISTS (SELECT FROM sagapost.subscription_switches AS switch WHERE switch.subscription_id = job.subscription_id)
  LIMIT $3`

// What was sent is reported, and nothing that was reported is open again.
const openJobHasNoResult = `
  SELECT saga_id AS id, format('job %s is %s with error %L, response %s', id, status, error_code, response_status) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_jobs
  WHERE status IN ('Pending', 'Leased') AND event_id >= $1 AND event_id < $2
    AND num_nonnulls(response_status, error_code, retry_after_s, duration_ms, response_excerpt, finished_at) > 0
  LIMIT $3`

const attemptCountIsAppliedResults = `
  SELECT saga.id, format('attempt_count %s, %s results applied', saga.attempt_count, count(job.id)) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.webhook_delivery_jobs AS job
    ON job.saga_id = saga.id AND job.event_id = saga.event_id
      AND job.event_id >= $1 AND job.event_id < $2 AND job.attempt <= saga.attempt_count
    AND job.status IN ('Completed', 'Failed')
  WHERE saga.event_id >= $1 AND saga.event_id < $2
  GROUP BY saga.id, saga.event_id, saga.attempt_count HAVING saga.attempt_count <> count(job.id)
  LIMIT $3`

// Every new result waits in the queue, once, and nothing else does.
const newResultsAreQueued = `
  SELECT coalesce(new.saga_id, queued.saga_id) AS id,
         format('the result of job %s is %s, and %s times in the queue', coalesce(new.job_id, queued.job_id),
           CASE WHEN new.job_id IS NULL THEN 'not new' ELSE 'new' END, coalesce(queued.times, 0)) AS detail,
         count(*) OVER () AS total
  FROM (
    SELECT job.id AS job_id, saga.id AS saga_id
    FROM sagapost.webhook_delivery_sagas AS saga
    JOIN sagapost.webhook_delivery_jobs AS job
      ON job.saga_id = saga.id AND job.event_id = saga.event_id
        AND job.event_id >= $1 AND job.event_id < $2 AND job.attempt > saga.attempt_count
    WHERE saga.event_id >= $1 AND saga.event_id < $2 AND job.status IN ('Completed', 'Failed')
  ) AS new
  FULL JOIN (
    SELECT job_id, saga_id, count(*) AS times FROM sagapost.unapplied_results WHERE event_id >= $1 AND event_id < $2
    GROUP BY job_id, saga_id
  ) AS queued ON queued.job_id = new.job_id
  WHERE new.job_id IS NULL OR queued.times IS DISTINCT FROM 1
  LIMIT $3`

const completedEndsWithSuccess = `
  SELECT saga.id, format('Completed with error %L, last result %L', saga.final_error_code, last.status) AS detail,
         count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.webhook_delivery_jobs AS last
    ON last.saga_id = saga.id AND last.event_id = saga.event_id
      AND last.event_id >= $1 AND last.event_id < $2 AND last.attempt = saga.attempt_count
  WHERE saga.status = 'Completed' AND saga.event_id >= $1 AND saga.event_id < $2
    AND (saga.final_error_code IS NOT NULL OR last.status IS DISTINCT FROM 'Completed')
  LIMIT $3`

const successCompletes = `
  SELECT saga.id, format('%s after %s successes', saga.status, count(*)) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  JOIN sagapost.webhook_delivery_jobs AS job
    ON job.saga_id = saga.id AND job.event_id = saga.event_id
      AND job.event_id >= $1 AND job.event_id < $2 AND job.status = 'Completed'
    AND job.attempt <= saga.attempt_count
  WHERE saga.event_id >= $1 AND saga.event_id < $2
  GROUP BY saga.id, saga.event_id, saga.status HAVING saga.status <> 'Completed' OR count(*) > 1
  LIMIT $3`

// A delivery that was stopped ends with the reason for that; its attempts keep theirs.
const failureIsRecorded = `
  SELECT saga.id, format('%s with error %L, last result %L with %L',
           saga.status, saga.final_error_code, last.status, last.error_code) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_sagas AS saga
  LEFT JOIN sagapost.webhook_delivery_jobs AS last
    ON last.saga_id = saga.id AND last.event_id = saga.event_id
      AND last.event_id >= $1 AND last.event_id < $2 AND last.attempt = saga.attempt_count
  WHERE saga.status IN ('PendingRetry', 'DeadLettered') AND saga.event_id >= $1 AND saga.event_id < $2
    AND (last.status IS DISTINCT FROM 'Failed' OR last.error_code IS NULL
      OR (saga.final_error_code IS DISTINCT FROM last.error_code AND NOT (saga.status = 'DeadLettered'
        AND coalesce(saga.final_error_code IN ('subscription_deleted', 'cancelled'), false))))
  LIMIT $3`

const attemptsWithoutGaps = `
  SELECT saga_id AS id, format('attempts %s', array_agg(attempt ORDER BY attempt)) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_jobs
  WHERE event_id >= $1 AND event_id < $2
  GROUP BY saga_id, event_id
  HAVING min(attempt) <> 1 OR max(attempt) <> count(*) OR count(DISTINCT attempt) <> count(*)
  LIMIT $3`

const jobsHaveTheirDelivery = `
  SELECT job.id, format('job of delivery %s, which is not there for event %s and subscription %s',
           job.saga_id, job.event_id, job.subscription_id) AS detail, count(*) OVER () AS total
  FROM sagapost.webhook_delivery_jobs AS job
  LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = job.saga_id AND saga.event_id = job.event_id
      AND saga.event_id >= $1 AND saga.event_id < $2 AND saga.subscription_id = job.subscription_id
  WHERE job.event_id >= $1 AND job.event_id < $2 AND saga.id IS NULL
  LIMIT $3`

/** What a delivery and its jobs owe each other. `id` is the delivery's, but for jobs without one. */
export const deliveryInvariants: readonly Invariant[] = [
  { name: 'in_progress_has_one_open_job', rules: ['S9'], sql: inProgressHasOneOpenJob },
  { name: 'one_active_job', rules: ['S9', 'J3'], sql: oneActiveJob },
  {
    name: 'only_in_progress_has_open_job',
    rules: ['S10', 'S11', 'S16', 'S19'],
    sql: onlyInProgressHasOpenJob,
  },
  { name: 'pending_is_untouched', rules: ['S5', 'S19'], sql: pendingIsUntouched },
  { name: 'work_is_within_reach', rules: ['S10', 'S14', 'J8'], sql: workIsWithinReach },
  { name: 'held_delivery_is_let_go', rules: ['S10', 'U5'], sql: heldIsLetGo },
  { name: 'open_job_has_no_result', rules: ['J3', 'J12'], sql: openJobHasNoResult },
  { name: 'attempt_count_is_applied_results', rules: ['S4', 'S13'], sql: attemptCountIsAppliedResults },
  { name: 'new_results_are_queued', rules: ['S4', 'S17', 'S18'], sql: newResultsAreQueued },
  { name: 'completed_ends_with_success', rules: ['S18'], sql: completedEndsWithSuccess },
  { name: 'success_completes', rules: ['S11', 'S18'], sql: successCompletes },
  { name: 'failure_is_recorded', rules: ['S12', 'S17'], sql: failureIsRecorded },
  { name: 'attempts_without_gaps', rules: ['S16', 'J3'], sql: attemptsWithoutGaps },
  { name: 'jobs_have_their_delivery', rules: ['J1', 'J3'], sql: jobsHaveTheirDelivery },
]
