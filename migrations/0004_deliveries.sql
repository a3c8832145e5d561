-- Delivery sagas [S1–S3], jobs [J1, J2] and dead letters [D1], partitioned like the events they belong to.
-- A saga has one event, so every unique key can include event_id without changing its meaning. No foreign
-- keys among the four partitioned tables: they would tie partitions together and lock rows on the hot path.

CREATE TYPE sagapost.delivery_status AS ENUM ('Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered');
CREATE TYPE sagapost.job_status AS ENUM ('Pending', 'Leased', 'Completed', 'Failed');

CREATE SEQUENCE sagapost.webhook_delivery_sagas_id_seq;

CREATE TABLE sagapost.webhook_delivery_sagas (
  id               bigint                   NOT NULL DEFAULT nextval('sagapost.webhook_delivery_sagas_id_seq'),
  event_id         bigint                   NOT NULL,
  subscription_id  bigint                   NOT NULL,
  status           sagapost.delivery_status NOT NULL DEFAULT 'Pending',
  attempt_count    integer                  NOT NULL DEFAULT 0,
  next_attempt_at  timestamptz              NOT NULL DEFAULT sagapost.now(),
  final_error_code varchar(100),
  created_at       timestamptz              NOT NULL DEFAULT sagapost.now(),
  updated_at       timestamptz              NOT NULL DEFAULT sagapost.now(),
  -- The dead letter that this saga takes up again; null for a routed saga (DESIGN 2.1).
  requeued_from    bigint,
  correlation_id   varchar(255),
  CONSTRAINT webhook_delivery_sagas_pkey PRIMARY KEY (id, event_id),
  CONSTRAINT sagas_attempt_count_not_negative CHECK (attempt_count >= 0)
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.webhook_delivery_sagas_id_seq OWNED BY sagapost.webhook_delivery_sagas.id;

-- [S3] Routing an event twice makes one saga; a requeued saga is not a routed one.
CREATE UNIQUE INDEX uniq_saga_event_subscription ON sagapost.webhook_delivery_sagas (event_id, subscription_id)
  WHERE requeued_from IS NULL;
-- A dead letter is taken up again once; asking twice finds the saga that the first request made.
CREATE UNIQUE INDEX uniq_saga_requeued_from ON sagapost.webhook_delivery_sagas (requeued_from, event_id)
  WHERE requeued_from IS NOT NULL;
CREATE INDEX idx_saga_event ON sagapost.webhook_delivery_sagas (event_id, subscription_id);
-- [S21] The two status indexes hold only sagas that wait for the orchestrator: finished ones, nearly all
-- rows, cost them nothing. docs/internals/decisions.md has the measurement.
CREATE INDEX idx_saga_status ON sagapost.webhook_delivery_sagas (status) WHERE status = 'Pending';
CREATE INDEX idx_saga_status_retry ON sagapost.webhook_delivery_sagas (status, next_attempt_at)
  WHERE status = 'PendingRetry';

CREATE SEQUENCE sagapost.webhook_delivery_jobs_id_seq;

CREATE TABLE sagapost.webhook_delivery_jobs (
  id               bigint              NOT NULL DEFAULT nextval('sagapost.webhook_delivery_jobs_id_seq'),
  saga_id          bigint              NOT NULL,
  event_id         bigint              NOT NULL,
  subscription_id  bigint              NOT NULL,
  status           sagapost.job_status NOT NULL DEFAULT 'Pending',
  -- Leased: when the lease ends. Pending: from when the job may be claimed, so that one index in one order
  -- serves the claim and the cleaner [J9].
  lease_until      timestamptz         NOT NULL DEFAULT sagapost.now(),
  attempt_at       timestamptz         NOT NULL DEFAULT sagapost.now(),
  attempt          integer             NOT NULL DEFAULT 1,
  -- Fresh and random at every claim; a report must match it, else it changes nothing (DESIGN 2.8).
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
  -- Set by the orchestrator when the result has been counted: the mark that makes results count once [S4].
  applied_at       timestamptz,
  correlation_id   varchar(255),
  CONSTRAINT webhook_delivery_jobs_pkey PRIMARY KEY (id, event_id),
  CONSTRAINT jobs_attempt_positive CHECK (attempt >= 1),
  CONSTRAINT jobs_lease_resets_not_negative CHECK (lease_resets >= 0),
  CONSTRAINT jobs_response_status_range CHECK (response_status BETWEEN 100 AND 999),
  CONSTRAINT jobs_retry_after_not_negative CHECK (retry_after_s >= 0),
  CONSTRAINT jobs_duration_not_negative CHECK (duration_ms >= 0),
  CONSTRAINT jobs_applied_is_finished CHECK (applied_at IS NULL OR status IN ('Completed', 'Failed'))
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.webhook_delivery_jobs_id_seq OWNED BY sagapost.webhook_delivery_jobs.id;

-- [J2] Also serves every look at a saga's attempts, in order, by its leading column.
CREATE UNIQUE INDEX uniq_job_saga_attempt ON sagapost.webhook_delivery_jobs (saga_id, attempt_at, event_id);
-- [S9] One active job per saga.
CREATE UNIQUE INDEX uniq_job_saga_active ON sagapost.webhook_delivery_jobs (saga_id, event_id)
  WHERE status IN ('Pending', 'Leased');
-- [J9] The claim (Pending, by time) and the Lease Reset Cleaner (Leased, by time).
CREATE INDEX idx_job_status_lease ON sagapost.webhook_delivery_jobs (status, lease_until)
  WHERE status IN ('Pending', 'Leased');
-- The results that wait for the orchestrator, by saga. Partial, because uniq_job_saga_attempt begins with the
-- same column and serves everything else.
CREATE INDEX idx_job_saga ON sagapost.webhook_delivery_jobs (saga_id)
  WHERE status IN ('Completed', 'Failed') AND applied_at IS NULL;

CREATE SEQUENCE sagapost.dead_letters_id_seq;

CREATE TABLE sagapost.dead_letters (
  id               bigint       NOT NULL DEFAULT nextval('sagapost.dead_letters_id_seq'),
  saga_id          bigint       NOT NULL,
  event_id         bigint       NOT NULL,
  subscription_id  bigint       NOT NULL,
  event_type       varchar(100) NOT NULL,
  final_error_code varchar(100),
  failed_at        timestamptz  NOT NULL DEFAULT sagapost.now(),
  payload_snapshot json         NOT NULL,
  attempt_count    integer      NOT NULL,
  -- Of the last job [J11].
  job_id           bigint,
  worker_id        varchar(100),
  lease_expiration timestamptz,
  correlation_id   varchar(255),
  CONSTRAINT dead_letters_pkey PRIMARY KEY (id, event_id)
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.dead_letters_id_seq OWNED BY sagapost.dead_letters.id;

CREATE INDEX idx_dead_saga ON sagapost.dead_letters (saga_id);
CREATE INDEX idx_dead_event ON sagapost.dead_letters (event_id);
-- [D3] One dead letter per saga.
CREATE UNIQUE INDEX uniq_dead_saga ON sagapost.dead_letters (saga_id, event_id);
