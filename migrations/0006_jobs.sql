-- Jobs [J1, J2], one per attempt of a delivery, and the queue of their results [S4].

-- The states of docs/concepts/state-machines.md, compared with the guards below as those of deliveries are.
CREATE TYPE sagapost.job_status AS ENUM ('Pending', 'Leased', 'Completed', 'Failed');

CREATE SEQUENCE sagapost.webhook_delivery_jobs_id_seq;

-- Partitioned like the deliveries, without foreign keys for the same reason. A job holds one attempt and its result.
CREATE TABLE sagapost.webhook_delivery_jobs (
  id               bigint              NOT NULL DEFAULT nextval('sagapost.webhook_delivery_jobs_id_seq'),
  saga_id          bigint              NOT NULL,
  event_id         bigint              NOT NULL,
  subscription_id  bigint              NOT NULL,
  status           sagapost.job_status NOT NULL DEFAULT 'Pending',
  -- Leased: when the lease ends. Pending: from when on the job may be claimed. So one index in one order serves the
  -- claim and the cleaner [J9].
  lease_until      timestamptz         NOT NULL DEFAULT sagapost.now(),
  attempt_at       timestamptz         NOT NULL DEFAULT sagapost.now(),
  attempt          integer             NOT NULL DEFAULT 1,
  -- New and random with every claim; a report with another token changes nothing.
  lease_token      uuid,
  worker_id        varchar(100),
  lease_resets     integer             NOT NULL DEFAULT 0,
  response_status  integer,
  error_code       varchar(100),
  -- What the receiver asked for, in seconds; the orchestrator bounds it [S14].
  retry_after_s    integer,
  duration_ms      integer,
  response_excerpt varchar(2000),
  finished_at      timestamptz,
  correlation_id   varchar(255),
  CONSTRAINT webhook_delivery_jobs_pkey PRIMARY KEY (id, event_id),
  CONSTRAINT jobs_attempt_positive CHECK (attempt >= 1),
  CONSTRAINT jobs_lease_resets_not_negative CHECK (lease_resets >= 0),
  CONSTRAINT jobs_response_status_range CHECK (response_status BETWEEN 100 AND 999),
  CONSTRAINT jobs_retry_after_not_negative CHECK (retry_after_s >= 0),
  CONSTRAINT jobs_duration_not_negative CHECK (duration_ms >= 0)
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.webhook_delivery_jobs_id_seq OWNED BY sagapost.webhook_delivery_jobs.id;

-- [J2] Also serves every look at the attempts of a delivery, in their order, by its leading column.
CREATE UNIQUE INDEX uniq_job_saga_attempt ON sagapost.webhook_delivery_jobs (saga_id, attempt_at, event_id);
-- [S9] One active job per delivery.
CREATE UNIQUE INDEX uniq_job_saga_active ON sagapost.webhook_delivery_jobs (saga_id, event_id)
  WHERE status IN ('Pending', 'Leased');
-- [J9] The claim (Pending, by time) and the cleaner of leases (Leased, by time).
CREATE INDEX idx_job_status_lease ON sagapost.webhook_delivery_jobs (status, lease_until)
  WHERE status IN ('Pending', 'Leased');
-- [J2] The failed attempts, from which a dead letter is written; uniq_job_saga_attempt begins with the same column and
-- serves everything else.
CREATE INDEX idx_job_saga ON sagapost.webhook_delivery_jobs (saga_id) WHERE status = 'Failed';
-- Only the jobs that ended with 410 Gone.
CREATE INDEX idx_job_gone ON sagapost.webhook_delivery_jobs (finished_at) WHERE error_code = 'http_410';

-- Guards. AFTER UPDATE for the same reason as those of deliveries -----------------------------------------------------

CREATE TRIGGER job_begins_pending
  BEFORE INSERT ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (NEW.status <> 'Pending')
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a job begins as Pending');

-- [J12] The four moves.
CREATE TRIGGER job_moves_legally
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status NOT IN ('Completed', 'Failed') AND NOT (
    (OLD.status = 'Pending' AND NEW.status = 'Leased')
    OR (OLD.status = 'Leased' AND NEW.status IN ('Completed', 'Failed', 'Pending'))
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a job');

-- [J12] Only a job without a request goes back, so an unfinished job has nothing of a result. Lost leases are counted
-- one by one and never down: a payload that ends its workers is tried that many times and no more.
CREATE TRIGGER job_goes_back_unsent
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (NEW.lease_resets <> OLD.lease_resets AND
                     (OLD.status <> 'Leased' OR NEW.lease_resets <> OLD.lease_resets + 1)
    OR NEW.status IN ('Pending', 'Leased') AND num_nonnulls(
      NEW.response_status, NEW.error_code, NEW.retry_after_s, NEW.duration_ms, NEW.response_excerpt, NEW.finished_at) > 0)
  EXECUTE FUNCTION sagapost.refuse('SP002', 'a job that was sent is not put back');

CREATE TRIGGER job_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or Failed job never changes');

CREATE TRIGGER job_identity_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (
    (OLD.id, OLD.saga_id, OLD.event_id, OLD.subscription_id, OLD.attempt_at, OLD.attempt, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.saga_id, NEW.event_id, NEW.subscription_id, NEW.attempt_at, NEW.attempt, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a job is for never changes');

CREATE TRIGGER job_is_kept
  BEFORE DELETE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'jobs are never deleted');

CREATE TRIGGER truncate_is_refused
  BEFORE TRUNCATE ON sagapost.webhook_delivery_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP005', 'rows are never deleted');

-- [S16, S19, S9, J3] A job is made only for an InProgress delivery, under its event and subscription and as its next
-- attempt: any other result would count as applied before [S4], and the delivery would stay InProgress for ever.
-- Deliveries that the same statement moved are this transaction's own versions (xmin) and need no lock; all others are
-- locked and looked at again. docs/internals/decisions.md has the price, docs/internals/hot-statements.md the bounds.
CREATE FUNCTION sagapost.check_made_jobs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  jobs bigint;
  fitting bigint;
  first_id bigint;
  last_id bigint;
  own_xid xid;
  misfit record;
BEGIN
  SELECT count(*), min(event_id), max(event_id) INTO jobs, first_id, last_id FROM made;
  IF jobs = 0 THEN
    RETURN NULL;
  END IF;
  -- As in check_made_deliveries(). The next partition is opened as well: PostgreSQL 18 would read a single one whole.
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.webhook_delivery_sagas'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
    SELECT last_id + events_per_partition INTO last_id FROM sagapost.partition_settings;
  END IF;
  own_xid := pg_current_xact_id()::xid;
  SELECT count(*) INTO fitting
  FROM made JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = ANY (ARRAY[made.saga_id]) AND saga.event_id + 0 = made.event_id
    AND (saga.event_id >= first_id OR saga.event_id > last_id) AND (saga.event_id <= last_id OR saga.event_id < first_id)
  WHERE saga.subscription_id = made.subscription_id AND saga.status = 'InProgress' AND saga.xmin = own_xid
    AND saga.attempt_count + 1 = made.attempt;
  IF fitting = jobs THEN
    RETURN NULL;
  END IF;

  PERFORM FROM sagapost.webhook_delivery_sagas AS saga
  WHERE saga.id = ANY (ARRAY(SELECT saga_id FROM made)) AND saga.event_id >= first_id AND saga.event_id <= last_id
  FOR SHARE;
  SELECT made.saga_id, made.event_id, made.subscription_id, made.attempt INTO misfit
  FROM made LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = ANY (ARRAY[made.saga_id]) AND saga.event_id + 0 = made.event_id
    AND (saga.event_id >= first_id OR saga.event_id > last_id) AND (saga.event_id <= last_id OR saga.event_id < first_id)
    AND saga.subscription_id = made.subscription_id AND saga.attempt_count + 1 = made.attempt AND saga.status = 'InProgress'
    AND NOT EXISTS (
      SELECT FROM sagapost.webhook_delivery_jobs AS job
      WHERE job.saga_id = made.saga_id AND job.event_id = made.event_id AND job.id <> made.id
        AND job.attempt > saga.attempt_count)
  WHERE saga.id IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP011',
      MESSAGE = format('there is no delivery %s of event %s to subscription %s that is InProgress and lacks a job for attempt %s',
        misfit.saga_id, misfit.event_id, misfit.subscription_id, misfit.attempt),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER job_fits_delivery
  AFTER INSERT ON sagapost.webhook_delivery_jobs
  REFERENCING NEW TABLE AS made
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_jobs();

-- Results -------------------------------------------------------------------------------------------------------------

-- Finished jobs until the orchestrator has applied their results, oldest first by id; the transaction that moves the
-- deliveries deletes the row. A mark on the job would be another version of it in all its indexes. Whether a result is
-- applied shows in its attempt: it is then not above the delivery's attempt_count [S4].
CREATE TABLE sagapost.delivery_result_queue (
  id             bigint      NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  job_ids        bigint[]    NOT NULL,
  event_ids      bigint[]    NOT NULL,
  -- The lowest and the highest of event_ids: in which partitions the jobs are.
  first_event_id bigint      NOT NULL,
  last_event_id  bigint      NOT NULL,
  enqueued_at    timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT delivery_result_queue_pkey PRIMARY KEY (id),
  CONSTRAINT delivery_result_queue_entries CHECK (
    cardinality(job_ids) > 0 AND cardinality(event_ids) = cardinality(job_ids)
    AND array_ndims(job_ids) = 1 AND array_position(job_ids, NULL) IS NULL
    AND array_ndims(event_ids) = 1 AND array_position(event_ids, NULL) IS NULL)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Fills the queue for every statement that finishes jobs, one by hand included. Claims fire it as well. A finished job
-- never changes, so a job that is finished now was not before.
CREATE FUNCTION sagapost.enqueue_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM changed WHERE status IN ('Completed', 'Failed')) THEN
    RETURN NULL;
  END IF;
  INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
  SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id)
  FROM (SELECT id, event_id, (row_number() OVER () - 1) / sagapost.entries_per_row() AS part
        FROM changed WHERE status IN ('Completed', 'Failed')) AS finished
  GROUP BY part ORDER BY part;
  RETURN NULL;
END
$$;

CREATE TRIGGER job_enqueue_results
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_results();

ALTER TABLE sagapost.webhook_delivery_jobs
  ENABLE ALWAYS TRIGGER job_begins_pending,
  ENABLE ALWAYS TRIGGER job_moves_legally,
  ENABLE ALWAYS TRIGGER job_goes_back_unsent,
  ENABLE ALWAYS TRIGGER job_final_is_frozen,
  ENABLE ALWAYS TRIGGER job_identity_is_frozen,
  ENABLE ALWAYS TRIGGER job_is_kept,
  ENABLE ALWAYS TRIGGER truncate_is_refused,
  ENABLE ALWAYS TRIGGER job_fits_delivery,
  ENABLE ALWAYS TRIGGER job_enqueue_results;

-- The queue with one row per result.
CREATE VIEW sagapost.unapplied_results AS
SELECT queued.id AS queue_id, job.id AS job_id, job.saga_id, job.event_id, queued.enqueued_at
FROM sagapost.delivery_result_queue AS queued
CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
JOIN sagapost.webhook_delivery_jobs AS job ON job.id = finished.job_id AND job.event_id = finished.event_id
  AND job.event_id BETWEEN queued.first_event_id AND queued.last_event_id;

-- [S21] InProgress has no index: it would make a delivery a fifth dearer, and draw the statement that applies results
-- to itself. Such a delivery has an active job or a result that waits, and both have an index: this view costs what is
-- in progress, however many deliveries there are.
CREATE VIEW sagapost.deliveries_in_progress WITH (security_invoker = true) AS
SELECT saga.*
FROM (
  SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs WHERE status IN ('Pending', 'Leased')
  UNION
  SELECT reported.saga_id, reported.event_id
  FROM sagapost.delivery_result_queue AS queued
  CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
  CROSS JOIN LATERAL (
    SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
    WHERE id = finished.job_id AND event_id = finished.event_id LIMIT 1
  ) AS reported
) AS job
CROSS JOIN LATERAL (
  -- LIMIT makes this one look for each job instead of a join of all deliveries; BETWEEN makes it a look by the primary
  -- key instead of one through all deliveries of the event.
  SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
         created_at, updated_at
  FROM sagapost.webhook_delivery_sagas
  WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress' LIMIT 1
) AS saga;
