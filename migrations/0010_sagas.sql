-- General sagas: instances [G1], steps [G2], the audit trail [G3], what their coordinators need [G14], and the guards
-- of the two state machines. docs/reference/general-sagas-schema.md describes the tables, saga-states.md the moves.

-- JSON shapes [G5] ----------------------------------------------------------------------------------------------------

-- Each answers true or false for any jsonb and never raises. Those that tables check are PL/pgSQL: in SQL they would be
-- inlined into the checks, which every statement plans again (1 ms of each write). PL/pgSQL plans them once a
-- connection.

-- A JSON number without a fraction, within the bounds. The cast stands in a CASE behind the test of its type.
CREATE FUNCTION sagapost.is_json_integer(value jsonb, low bigint, high bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN jsonb_typeof(value) = 'number'
  THEN value::numeric BETWEEN low AND high AND trunc(value::numeric) = value::numeric
  ELSE false
END;

-- A date and time by RFC 3339, section 5.6, on a day that exists. A pattern: a cast to timestamptz would raise, and
-- would depend on the settings of the session.
CREATE FUNCTION sagapost.is_rfc3339(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
  value ~ (
    '^('
    '[0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])'
    '|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)'
    '|[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])'
    '|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29'
    ')[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]+)?'
    '([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$'
  ),
  false
);

-- {code, message, type?, retryable?, timestamp?, stack_trace?, details?, cause?}: an optional key may be absent or
-- null. A cause is an error itself; a chain has at most 32 errors.
CREATE FUNCTION sagapost.is_saga_error(value jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (
    WITH RECURSIVE chain (error, depth) AS (
      SELECT value, 1
      UNION ALL
      SELECT error -> 'cause', depth + 1
      FROM chain
      WHERE jsonb_typeof(error -> 'cause') <> 'null' AND depth <= 32
    )
    SELECT bool_and((
      depth <= 32
      AND jsonb_typeof(error) = 'object'
      AND jsonb_typeof(error -> 'code') = 'string'
      AND jsonb_typeof(error -> 'message') = 'string'
      AND coalesce(jsonb_typeof(error -> 'type'), 'null') IN ('string', 'null')
      AND coalesce(jsonb_typeof(error -> 'retryable'), 'null') IN ('boolean', 'null')
      AND (error ->> 'timestamp' IS NULL OR sagapost.is_rfc3339(error ->> 'timestamp'))
      AND coalesce(jsonb_typeof(error -> 'stack_trace'), 'null') IN ('string', 'null')
      AND coalesce(jsonb_typeof(error -> 'details'), 'null') IN ('object', 'null')
    ) IS TRUE)
    FROM chain
  );
END
$$;

-- {max_attempts, initial_interval_ms?, max_interval_ms?, multiplier?, retry_on?}: an optional key may be absent or
-- null. Intervals end at 2^53 − 1, the largest integer that every JSON parser keeps exactly.
CREATE FUNCTION sagapost.is_saga_retry_policy(value jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN CASE
    WHEN jsonb_typeof(value) = 'object'
      AND sagapost.is_json_integer(value -> 'max_attempts', 1, 2147483647)
      AND (value ->> 'initial_interval_ms' IS NULL
        OR sagapost.is_json_integer(value -> 'initial_interval_ms', 0, 9007199254740991))
      AND (value ->> 'max_interval_ms' IS NULL
        OR sagapost.is_json_integer(value -> 'max_interval_ms', 0, 9007199254740991))
      AND coalesce(jsonb_typeof(value -> 'multiplier'), 'null') IN ('number', 'null')
      AND coalesce(jsonb_typeof(value -> 'retry_on'), 'null') IN ('array', 'null')
    THEN
      coalesce((value ->> 'max_interval_ms')::numeric >= (value ->> 'initial_interval_ms')::numeric, true)
      AND coalesce((value ->> 'multiplier')::numeric BETWEEN 1 AND 1000, true)
      AND NOT coalesce((value -> 'retry_on') @? 'strict $[*] ? (@.type() != "string")', false)
    ELSE false
  END;
END
$$;

-- {state, attempts, max_attempts, started_at?, completed_at?, error?}: an optional key may be absent or null. The
-- states are those of a step.
CREATE FUNCTION sagapost.is_saga_compensation_state(value jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN (
    jsonb_typeof(value) = 'object'
    AND sagapost.is_json_integer(value -> 'state', 0, 6)
    AND sagapost.is_json_integer(value -> 'attempts', 0, 2147483647)
    AND sagapost.is_json_integer(value -> 'max_attempts', 1, 2147483647)
    AND (value ->> 'started_at' IS NULL OR sagapost.is_rfc3339(value ->> 'started_at'))
    AND (value ->> 'completed_at' IS NULL OR sagapost.is_rfc3339(value ->> 'completed_at'))
    AND (value ->> 'error' IS NULL OR sagapost.is_saga_error(value -> 'error'))
  ) IS TRUE;
END
$$;

-- [G6] As a list of 17 texts in the check itself, this was a tenth of a small write.
CREATE FUNCTION sagapost.is_saga_event_type(kind text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN kind IN (
    'saga.started', 'saga.step.started', 'saga.step.completed', 'saga.step.failed',
    'saga.completed', 'saga.failed', 'saga.cancelled', 'saga.timed_out',
    'compensation.started', 'compensation.step.started', 'compensation.step.completed',
    'compensation.step.failed', 'compensation.completed', 'compensation.failed',
    'retry.attempted', 'retry.exhausted',
    'state.changed');
END
$$;

-- Tables --------------------------------------------------------------------------------------------------------------

-- [G1] The columns of the rule in its order, then those of the coordinators.
CREATE TABLE sagapost.saga_instances (
  id                  varchar(255) NOT NULL,
  definition_id       varchar(255) NOT NULL,
  name                varchar(255),
  description         text,
  state               integer      NOT NULL,
  current_step        integer      NOT NULL,
  total_steps         integer      NOT NULL,
  created_at          timestamptz  NOT NULL DEFAULT sagapost.now(),
  updated_at          timestamptz  NOT NULL DEFAULT sagapost.now(),
  started_at          timestamptz,
  completed_at        timestamptz,
  timed_out_at        timestamptz,
  initial_data        jsonb,
  current_data        jsonb,
  result_data         jsonb,
  error               jsonb,
  timeout_ms          bigint,
  retry_policy        jsonb,
  metadata            jsonb,
  trace_id            varchar(255),
  span_id             varchar(255),
  awaiting_operator   boolean      NOT NULL DEFAULT false,
  -- [G14] Which definition, whose turn, when, and who asked to cancel.
  definition_version  integer      NOT NULL DEFAULT 1,
  idempotency_key     varchar(255),
  wake_at             timestamptz  DEFAULT sagapost.now(),
  deadline_at         timestamptz,
  lease_owner         varchar(255),
  lease_until         timestamptz,
  version             bigint       NOT NULL DEFAULT 0,
  -- Every writer of an event holds this row, so that sequence has no gap and no duplicate.
  event_count         integer      NOT NULL DEFAULT 0,
  cancel_requested_at timestamptz,
  cancel_requested_by varchar(255),
  cancel_reason       text,
  parent_id           varchar(255),
  pivoted_at          timestamptz,
  woken               boolean      NOT NULL DEFAULT false,
  -- In the row, so that every writer publishes: also an operator's command, or a coordinator of another release.
  publishes           boolean      NOT NULL DEFAULT false,
  CONSTRAINT saga_instances_pkey PRIMARY KEY (id),
  CONSTRAINT saga_instances_state_range CHECK (state BETWEEN 0 AND 8),
  CONSTRAINT saga_instances_current_step_not_negative CHECK (current_step >= 0),
  CONSTRAINT saga_instances_total_steps_not_negative CHECK (total_steps >= 0),
  CONSTRAINT saga_instances_timeout_positive CHECK (timeout_ms > 0),
  CONSTRAINT saga_instances_error_shape CHECK (error IS NULL OR sagapost.is_saga_error(error)),
  CONSTRAINT saga_instances_retry_policy_shape
    CHECK (retry_policy IS NULL OR sagapost.is_saga_retry_policy(retry_policy)),
  CONSTRAINT saga_instances_awaiting_operator_state CHECK (state IN (1, 6) OR NOT awaiting_operator),
  CONSTRAINT saga_instances_definition_version_positive CHECK (definition_version >= 1),
  CONSTRAINT saga_instances_idempotency_key_length CHECK (idempotency_key <> ''),
  CONSTRAINT saga_instances_lease_whole CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
  CONSTRAINT saga_instances_lease_is_unfinished CHECK (lease_owner IS NULL OR state IN (0, 1, 2, 4)),
  CONSTRAINT saga_instances_version_not_negative CHECK (version >= 0 AND event_count >= 0),
  CONSTRAINT saga_instances_cancel_whole
    CHECK (cancel_requested_at IS NOT NULL OR (cancel_requested_by IS NULL AND cancel_reason IS NULL))
);

-- [G2]
CREATE TABLE sagapost.saga_steps (
  id                 varchar(255) NOT NULL,
  saga_id            varchar(255) NOT NULL,
  step_index         integer      NOT NULL,
  name               varchar(255) NOT NULL,
  state              integer      NOT NULL,
  attempts           integer      NOT NULL,
  max_attempts       integer      NOT NULL,
  created_at         timestamptz  NOT NULL DEFAULT sagapost.now(),
  started_at         timestamptz,
  completed_at       timestamptz,
  last_attempt_at    timestamptz,
  input_data         jsonb,
  output_data        jsonb,
  error              jsonb,
  compensation_state jsonb,
  metadata           jsonb,
  waits_for          text,
  wake_at            timestamptz,
  progress           jsonb,
  CONSTRAINT saga_steps_pkey PRIMARY KEY (id),
  CONSTRAINT fk_saga_steps_saga
    FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE,
  CONSTRAINT saga_steps_step_index_not_negative CHECK (step_index >= 0),
  CONSTRAINT saga_steps_state_range CHECK (state BETWEEN 0 AND 6),
  CONSTRAINT saga_steps_attempts_not_negative CHECK (attempts >= 0),
  CONSTRAINT saga_steps_max_attempts_positive CHECK (max_attempts >= 1),
  CONSTRAINT saga_steps_error_shape CHECK (error IS NULL OR sagapost.is_saga_error(error)),
  CONSTRAINT saga_steps_compensation_state_shape
    CHECK (compensation_state IS NULL OR sagapost.is_saga_compensation_state(compensation_state))
);

-- There are many topics, even when nearly all steps that wait at this moment wait for the same one: from such
-- statistics the planner would read all waiting steps for any news.
ALTER TABLE sagapost.saga_steps ALTER COLUMN waits_for SET (n_distinct = -1);

-- [G3]
CREATE TABLE sagapost.saga_events (
  id          bigserial    NOT NULL,
  saga_id     varchar(255) NOT NULL,
  event_type  varchar(100) NOT NULL,
  step_id     varchar(255),
  step_index  integer,
  "timestamp" timestamptz  NOT NULL DEFAULT sagapost.now(),
  event_data  jsonb,
  old_state   integer,
  new_state   integer,
  error       jsonb,
  trace_id    varchar(255),
  span_id     varchar(255),
  metadata    jsonb,
  sequence    integer,
  CONSTRAINT saga_events_pkey PRIMARY KEY (id),
  CONSTRAINT fk_saga_events_saga
    FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE,
  CONSTRAINT saga_events_event_type_known CHECK (sagapost.is_saga_event_type(event_type)),
  CONSTRAINT saga_events_step_index_not_negative CHECK (step_index >= 0),
  CONSTRAINT saga_events_old_state_range CHECK (old_state BETWEEN 0 AND 8),
  CONSTRAINT saga_events_new_state_range CHECK (new_state BETWEEN 0 AND 8),
  CONSTRAINT saga_events_error_shape CHECK (error IS NULL OR sagapost.is_saga_error(error)),
  CONSTRAINT saga_events_sequence_positive CHECK (sequence >= 1)
);

-- Indexes [G4] --------------------------------------------------------------------------------------------------------

-- Several named indexes begin with the same column, and the planner takes the one that seems cheaper by a page. Where a
-- query pattern is to use another one [G10], a predicate or a higher cost keeps the rival out. `x IS NOT NULL` on a
-- column that is NOT NULL leaves out no row, but only queries that compare x imply it: the index is for them alone.

-- Pattern 1, active sagas by creation, and lists of any state, newest first.
CREATE INDEX idx_saga_state_created ON sagapost.saga_instances (state, created_at);

-- Without the active states: for pattern 1, an index with them, a fifth as large, would win. The updates of a running
-- saga do not touch it.
CREATE INDEX idx_saga_state ON sagapost.saga_instances (state) WHERE state IN (0, 3, 5, 6, 7, 8);

-- Active sagas that have not moved since a moment; idx_saga_terminal_cleanup has the finished ones.
CREATE INDEX idx_saga_state_updated ON sagapost.saga_instances (state, updated_at)
  WHERE state IN (1, 2, 4) AND updated_at IS NOT NULL;

-- Pattern 2, active sagas older than a moment: the few rows that can time out, in the order in which they will. Pages
-- of active sagas need a bound on created_at ('-infinity' for the first page): a LIMIT without one walks
-- idx_saga_created_at past every finished saga.
CREATE INDEX idx_saga_filter_state_timeout ON sagapost.saga_instances (created_at)
  WHERE state IN (1, 2, 4) AND created_at IS NOT NULL;

-- cleanup_expired_sagas, and failed_sagas in its order.
CREATE INDEX idx_saga_terminal_cleanup ON sagapost.saga_instances (updated_at) WHERE state IN (3, 5, 6, 7, 8);

-- BRIN, as five indexes below, because a btree that begins with the same column answers all its queries: a few pages
-- instead of an entry for each row. autosummarize, because every scan reads what is not summarised.
CREATE INDEX idx_saga_definition_id ON sagapost.saga_instances USING brin (definition_id) WITH (autosummarize = on);

-- The sagas of one definition by state. With few definitions, PostgreSQL 18 would skip-scan it for pattern 1.
CREATE INDEX idx_saga_definition_state ON sagapost.saga_instances (definition_id, state)
  WHERE definition_id IS NOT NULL;

-- Without the condition, pattern 1 would use it where many sagas are unfinished.
CREATE INDEX idx_saga_created_at ON sagapost.saga_instances (created_at) WHERE created_at IS NOT NULL;

-- Btrees, like idx_event_step_id: no other index answers for them, and the order of the table, on which BRIN rests,
-- ends with the first cleanup, when new rows fill the holes of old ones.
CREATE INDEX idx_saga_updated_at ON sagapost.saga_instances (updated_at);
CREATE INDEX idx_saga_started_at ON sagapost.saga_instances (started_at) WHERE started_at IS NOT NULL;

-- state = 3, because completed_sagas does not say that completed_at is set, and is read in its order from here.
CREATE INDEX idx_saga_completed_at ON sagapost.saga_instances (completed_at)
  WHERE state = 3 OR completed_at IS NOT NULL;

-- Pattern 6.
CREATE INDEX idx_saga_trace_id ON sagapost.saga_instances (trace_id) WHERE trace_id IS NOT NULL;

-- metadata is searched by what it contains (@>, @?, @@): jsonb_path_ops serves that alone, smaller and faster than the
-- default, which adds only the test for a key (?).
CREATE INDEX idx_saga_metadata ON sagapost.saga_instances USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;

-- A start with a key that was used before finds the saga of the first start.
CREATE UNIQUE INDEX uniq_saga_idempotency_key ON sagapost.saga_instances (definition_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- Claims: what is due of one version of one definition, longest waiting first. A process pays nothing for sagas of
-- definitions that it does not have.
CREATE INDEX idx_saga_runnable ON sagapost.saga_instances (definition_id, definition_version, wake_at)
  WHERE state IN (0, 1, 2, 4) AND wake_at IS NOT NULL;

-- Sagas that have a deadline and can still miss it.
CREATE INDEX idx_saga_deadline ON sagapost.saga_instances (deadline_at)
  WHERE state IN (0, 1, 2) AND deadline_at IS NOT NULL;

-- Sagas that wait for an operator: few, and hard to find among the finished ones otherwise.
CREATE INDEX idx_saga_awaiting_operator ON sagapost.saga_instances (updated_at) WHERE awaiting_operator;

-- The children of a saga; most sagas have no parent.
CREATE INDEX idx_saga_parent ON sagapost.saga_instances (parent_id) WHERE parent_id IS NOT NULL;

-- Pattern 3, the steps of a saga in their order; also the cascade from saga_instances.
CREATE INDEX idx_step_saga_index ON sagapost.saga_steps (saga_id, step_index);

-- One step per place [G2]. The columns are turned round: unique all the same, and the same target for
-- ON CONFLICT (saga_id, step_index), but never as cheap for pattern 3 as idx_step_saga_index. In the same order the two
-- tie, even when this one is wider.
CREATE UNIQUE INDEX idx_step_unique_saga_index ON sagapost.saga_steps (step_index, saga_id);

-- BRIN. As a btree it would also draw pattern 3 away whenever the ids of sagas grow with time.
CREATE INDEX idx_step_saga_id ON sagapost.saga_steps USING brin (saga_id) WITH (autosummarize = on);
-- BRIN: a saga has a handful of steps, and idx_step_saga_index finds them in any state.
CREATE INDEX idx_step_saga_state ON sagapost.saga_steps USING brin (saga_id, state) WITH (autosummarize = on);

-- Nearly all steps are Completed: a query for those reads the table. With `state` alone, the planner would prefer this
-- index for pattern 5 where most failed steps have attempts left.
CREATE INDEX idx_step_state ON sagapost.saga_steps (state, attempts) WHERE state IN (0, 1, 3, 4, 5, 6);

-- Pattern 5, failed steps with attempts left: these only. No index can search by attempts < max_attempts, but a
-- predicate can say it.
CREATE INDEX idx_step_state_attempts ON sagapost.saga_steps (state, attempts)
  WHERE state = 3 AND attempts < max_attempts;

-- Which steps wait for a topic: only those that wait at this moment.
CREATE INDEX idx_step_waits_for ON sagapost.saga_steps (waits_for) WHERE waits_for IS NOT NULL AND state IN (1, 4);

-- Pattern 4, the history of a saga, newest first; also the cascade from saga_instances.
CREATE INDEX idx_event_saga_timestamp ON sagapost.saga_events (saga_id, "timestamp" DESC);

-- BRIN, like the two of the steps.
CREATE INDEX idx_event_saga_id ON sagapost.saga_events USING brin (saga_id) WITH (autosummarize = on);
CREATE INDEX idx_event_saga_type ON sagapost.saga_events USING brin (saga_id, event_type) WITH (autosummarize = on);

-- idx_event_type by its rule, a name that belongs to sagapost.events [E1]. BRIN: idx_event_type_timestamp begins with
-- the type.
CREATE INDEX idx_saga_events_type ON sagapost.saga_events USING brin (event_type) WITH (autosummarize = on);
CREATE INDEX idx_event_type_timestamp ON sagapost.saga_events (event_type, "timestamp" DESC);
CREATE INDEX idx_event_timestamp ON sagapost.saga_events ("timestamp" DESC);
CREATE INDEX idx_event_step_id ON sagapost.saga_events (step_id) WHERE step_id IS NOT NULL;

-- Pattern 6.
CREATE INDEX idx_event_trace_id ON sagapost.saga_events (trace_id) WHERE trace_id IS NOT NULL;

-- Guards of sagas -----------------------------------------------------------------------------------------------------

-- A saga that is held from the start has the intent of its first step written with it.
CREATE TRIGGER saga_instance_begins_pending
  BEFORE INSERT ON sagapost.saga_instances
  FOR EACH ROW WHEN (NOT (NEW.state = 0 OR (NEW.state = 1 AND NEW.lease_owner IS NOT NULL)))
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a saga begins as Pending, or held and Running');

-- The moves of the state machine. An update that keeps the state is no move. The fencing token and the number of events
-- never go back.
CREATE TRIGGER saga_instance_moves_legally
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW WHEN (
    NOT (OLD.state IN (3, 5, 7, 8) OR (OLD.state = 6 AND NOT OLD.awaiting_operator))
    AND NOT (
      NEW.version >= OLD.version AND NEW.event_count >= OLD.event_count
      AND (
        NEW.state = OLD.state
        OR (OLD.state = 0 AND NEW.state IN (1, 7, 8))
        OR (OLD.state = 1 AND NEW.state IN (2, 3, 4))
        OR (OLD.state = 2 AND NEW.state IN (1, 4))
        OR (OLD.state = 4 AND NEW.state IN (5, 6, 7, 8))
        OR (OLD.state = 6 AND NEW.state = 4)
      )
    ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a saga');

-- Failed is final unless an operator is awaited.
CREATE TRIGGER saga_instance_final_is_frozen
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW WHEN (OLD.state IN (3, 5, 7, 8) OR (OLD.state = 6 AND NOT OLD.awaiting_operator))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a finished saga never changes');

-- UPDATE OF: only a statement that names one of these columns can change it, and no other pays for the comparison.
CREATE TRIGGER saga_instance_identity_is_frozen
  BEFORE UPDATE OF id, definition_id, definition_version, idempotency_key, total_steps, created_at, initial_data,
    timeout_ms, deadline_at, trace_id, span_id ON sagapost.saga_instances
  FOR EACH ROW WHEN (
    (OLD.id, OLD.definition_id, OLD.definition_version, OLD.idempotency_key, OLD.total_steps, OLD.created_at,
     OLD.initial_data, OLD.timeout_ms, OLD.deadline_at, OLD.trace_id, OLD.span_id)
    IS DISTINCT FROM
    (NEW.id, NEW.definition_id, NEW.definition_version, NEW.idempotency_key, NEW.total_steps, NEW.created_at,
     NEW.initial_data, NEW.timeout_ms, NEW.deadline_at, NEW.trace_id, NEW.span_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a saga is for never changes');

CREATE TRIGGER saga_instance_publishes_is_frozen
  BEFORE UPDATE OF publishes ON sagapost.saga_instances
  FOR EACH ROW WHEN (OLD.publishes IS DISTINCT FROM NEW.publishes)
  EXECUTE FUNCTION sagapost.refuse('SP004', 'whether a saga publishes never changes');

ALTER TABLE sagapost.saga_instances
  ENABLE ALWAYS TRIGGER saga_instance_begins_pending,
  ENABLE ALWAYS TRIGGER saga_instance_moves_legally,
  ENABLE ALWAYS TRIGGER saga_instance_final_is_frozen,
  ENABLE ALWAYS TRIGGER saga_instance_identity_is_frozen,
  ENABLE ALWAYS TRIGGER saga_instance_publishes_is_frozen;

-- [G9] A writer may give the time of its write, between the start of the transaction and now; every other update gets
-- the start of the transaction. So the time never goes back.
CREATE FUNCTION sagapost.update_saga_updated_at() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT (NEW.updated_at > sagapost.now() AND NEW.updated_at <= sagapost.clock()) THEN
    NEW.updated_at := sagapost.now();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER trigger_saga_updated_at
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW EXECUTE FUNCTION sagapost.update_saga_updated_at();

-- Guards of steps -----------------------------------------------------------------------------------------------------

CREATE TRIGGER saga_step_begins_pending
  BEFORE INSERT ON sagapost.saga_steps
  FOR EACH ROW WHEN (NOT (
    (NEW.state = 0 AND NEW.attempts = 0) OR (NEW.state = 1 AND NEW.attempts = 1 AND NEW.step_index = 0)))
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a step begins as Pending with 0 attempts, or the first as Running with 1');

-- The moves of the state machine; Running to Skipped when an operator gives up what the step waits for. attempts goes
-- up by one when a run begins, and only then.
CREATE TRIGGER saga_step_moves_legally
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state NOT IN (5, 6) AND NOT (
    (NEW.attempts = OLD.attempts AND (
      NEW.state = OLD.state
      OR (OLD.state = 0 AND NEW.state = 6)
      OR (OLD.state = 1 AND NEW.state IN (2, 3, 6))
      OR (OLD.state = 2 AND NEW.state = 4)
      OR (OLD.state = 3 AND NEW.state IN (4, 6))
      OR (OLD.state = 4 AND NEW.state IN (3, 5))))
    OR (NEW.attempts = OLD.attempts + 1 AND OLD.state IN (0, 3) AND NEW.state = 1)
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a step');

CREATE TRIGGER saga_step_final_is_frozen
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state IN (5, 6))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Compensated or Skipped step never changes');

CREATE TRIGGER saga_step_identity_is_frozen
  BEFORE UPDATE OF id, saga_id, step_index, name, created_at ON sagapost.saga_steps
  FOR EACH ROW WHEN (
    (OLD.id, OLD.saga_id, OLD.step_index, OLD.name, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.saga_id, NEW.step_index, NEW.name, NEW.created_at))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a step is for never changes');

ALTER TABLE sagapost.saga_steps
  ENABLE ALWAYS TRIGGER saga_step_begins_pending,
  ENABLE ALWAYS TRIGGER saga_step_moves_legally,
  ENABLE ALWAYS TRIGGER saga_step_final_is_frozen,
  ENABLE ALWAYS TRIGGER saga_step_identity_is_frozen;

-- The audit trail -----------------------------------------------------------------------------------------------------

-- Refuses every change of saga_events but the cascade: it runs after the saga's row was deleted, so the row is missing
-- here; any other DELETE finds it, held by the foreign key. (pg_trigger_depth() would let any trigger's DELETE pass,
-- and refuse a subscriber that applies a replicated cascade.)
CREATE FUNCTION sagapost.refuse_saga_event_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM sagapost.saga_instances WHERE id = OLD.saga_id) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'SP005',
    MESSAGE = format('saga events are append-only: %s is refused', TG_OP),
    CONSTRAINT = 'saga_events_append_only', SCHEMA = 'sagapost', TABLE = 'saga_events';
END
$$;

CREATE TRIGGER saga_events_append_only
  BEFORE UPDATE OR DELETE ON sagapost.saga_events
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse_saga_event_change();

CREATE TRIGGER saga_events_truncate_is_refused
  BEFORE TRUNCATE ON sagapost.saga_events
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse_saga_event_change();

ALTER TABLE sagapost.saga_events
  ENABLE ALWAYS TRIGGER saga_events_append_only,
  ENABLE ALWAYS TRIGGER saga_events_truncate_is_refused;

-- Cleaning up [G8] ----------------------------------------------------------------------------------------------------

-- Deletes finished sagas that were last updated before older_than, with their steps and events, and returns how many.
-- Runs with the rights of its caller; the cascade has the owner's. Planned for the value: a plan for any moment would
-- expect to delete a third of the table.
CREATE FUNCTION sagapost.cleanup_expired_sagas(older_than timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  removed integer;
BEGIN
  DELETE FROM sagapost.saga_instances
  WHERE state IN (3, 5, 6, 7, 8) AND updated_at < older_than AND NOT awaiting_operator;
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END
$$;
COMMENT ON FUNCTION sagapost.cleanup_expired_sagas(timestamptz) IS
  'Deletes sagas in states 3, 5, 6, 7, 8 last updated before the moment, except those that await an operator; returns how many';

-- Views [G7] ----------------------------------------------------------------------------------------------------------

-- With the rights of the reader: a view adds to no role's rights.

CREATE VIEW sagapost.active_sagas WITH (security_invoker = true) AS
SELECT id, definition_id, name, state, current_step, total_steps,
       created_at, updated_at, started_at, trace_id, metadata
FROM sagapost.saga_instances
WHERE state IN (1, 2, 4)
ORDER BY created_at DESC;

CREATE VIEW sagapost.failed_sagas WITH (security_invoker = true) AS
SELECT id, definition_id, name, state, current_step, total_steps,
       created_at, updated_at, completed_at, error, trace_id
FROM sagapost.saga_instances
WHERE state IN (6, 7, 8)
ORDER BY updated_at DESC;

CREATE VIEW sagapost.completed_sagas WITH (security_invoker = true) AS
SELECT id, definition_id, name, current_step, total_steps,
       created_at, started_at, completed_at, result_data, trace_id
FROM sagapost.saga_instances
WHERE state = 3
ORDER BY completed_at DESC;

CREATE VIEW sagapost.saga_statistics WITH (security_invoker = true) AS
SELECT
  definition_id,
  count(*) AS total_instances,
  count(*) FILTER (WHERE state = 3) AS completed_count,
  count(*) FILTER (WHERE state IN (6, 7, 8)) AS failed_count,
  count(*) FILTER (WHERE state IN (1, 2, 4)) AS active_count,
  -- null while either time is, and avg leaves nulls out
  avg(extract(epoch FROM completed_at - started_at)) AS avg_duration_seconds,
  max(updated_at) AS last_execution
FROM sagapost.saga_instances
GROUP BY definition_id;

-- What the columns mean -----------------------------------------------------------------------------------------------

COMMENT ON TABLE sagapost.saga_instances IS 'General sagas: one row per run of a definition';
COMMENT ON COLUMN sagapost.saga_instances.id IS 'UUID version 7, chosen by the process that starts the saga';
COMMENT ON COLUMN sagapost.saga_instances.definition_id IS 'Name of its definition';
COMMENT ON COLUMN sagapost.saga_instances.name IS 'Of this one saga, for operators, as given at its start';
COMMENT ON COLUMN sagapost.saga_instances.description IS 'Of this one saga, for operators, as given at its start';
COMMENT ON COLUMN sagapost.saga_instances.state IS
  '0 Pending, 1 Running, 2 StepCompleted, 3 Completed, 4 Compensating, 5 Compensated, 6 Failed, 7 Cancelled, 8 TimedOut; active: 1, 2, 4; final: 3, 5, 6, 7, 8';
COMMENT ON COLUMN sagapost.saga_instances.current_step IS 'Index of the running step, from 0';
COMMENT ON COLUMN sagapost.saga_instances.total_steps IS 'Number of its rows in saga_steps';
COMMENT ON COLUMN sagapost.saga_instances.created_at IS 'When it was stored';
COMMENT ON COLUMN sagapost.saga_instances.updated_at IS 'Set by trigger_saga_updated_at on every update';
COMMENT ON COLUMN sagapost.saga_instances.started_at IS 'When its first step began, or was skipped';
COMMENT ON COLUMN sagapost.saga_instances.completed_at IS 'When it ended, or became Failed; null while it is unfinished';
COMMENT ON COLUMN sagapost.saga_instances.timed_out_at IS 'When a coordinator found that its deadline had passed';
COMMENT ON COLUMN sagapost.saga_instances.initial_data IS 'Its input';
COMMENT ON COLUMN sagapost.saga_instances.current_data IS
  'The outputs of its steps by name, as of its last wait or its end; up to 64 KiB, outputs that do not fit are left out';
COMMENT ON COLUMN sagapost.saga_instances.result_data IS 'The output of its last step; of parallel ones, by name';
COMMENT ON COLUMN sagapost.saga_instances.error IS
  '{code, message, type?, retryable?, timestamp?, stack_trace?, details?, cause?}: see is_saga_error';
COMMENT ON COLUMN sagapost.saga_instances.timeout_ms IS 'How long it may take, from created_at; null: no limit';
COMMENT ON COLUMN sagapost.saga_instances.retry_policy IS
  '{max_attempts, initial_interval_ms?, max_interval_ms?, multiplier?, retry_on?}: see is_saga_retry_policy';
COMMENT ON COLUMN sagapost.saga_instances.metadata IS 'For operators, as given at its start';
COMMENT ON COLUMN sagapost.saga_instances.trace_id IS 'W3C trace id, also of its events and of the attempts of its steps';
COMMENT ON COLUMN sagapost.saga_instances.span_id IS 'W3C span id of its start';
COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'Failed: a compensation failed for good. Running: a step waits for something that does not happen by itself, such as a dead-lettered delivery; its error says why';
COMMENT ON COLUMN sagapost.saga_instances.definition_version IS 'Version of its definition';
COMMENT ON COLUMN sagapost.saga_instances.idempotency_key IS
  'Unique in its definition; a second start with it finds this saga';
COMMENT ON COLUMN sagapost.saga_instances.wake_at IS
  'When it may be claimed next: at once, when a retry or a wait is due, or at the end of its lease; null: it is finished, or waits only for news';
COMMENT ON COLUMN sagapost.saga_instances.deadline_at IS 'created_at plus timeout_ms: it is undone then';
COMMENT ON COLUMN sagapost.saga_instances.lease_owner IS 'The coordinator that holds it, or null';
COMMENT ON COLUMN sagapost.saga_instances.lease_until IS 'When another coordinator may take it over';
COMMENT ON COLUMN sagapost.saga_instances.version IS
  'Fencing token: one higher with every claim and every write of the lease''s holder; a write with an older one changes nothing';
COMMENT ON COLUMN sagapost.saga_instances.event_count IS 'The sequence of its last event';
COMMENT ON COLUMN sagapost.saga_instances.cancel_requested_at IS 'When its cancellation was requested';
COMMENT ON COLUMN sagapost.saga_instances.cancel_requested_by IS 'Who requested its cancellation';
COMMENT ON COLUMN sagapost.saga_instances.cancel_reason IS 'Why its cancellation was requested';
COMMENT ON COLUMN sagapost.saga_instances.parent_id IS
  'The saga that started it as one of its steps, and is undone with it';
COMMENT ON COLUMN sagapost.saga_instances.pivoted_at IS
  'When it passed its pivot: from then on it only goes forward, whatever its deadline and cancellation requests';
COMMENT ON COLUMN sagapost.saga_instances.woken IS
  'There was news for it since it was last claimed: when it is released, it is due';
COMMENT ON COLUMN sagapost.saga_instances.publishes IS 'Its history is published as events, entry by entry';

COMMENT ON TABLE sagapost.saga_steps IS 'The steps of general sagas: one row per saga and step index';
COMMENT ON COLUMN sagapost.saga_steps.id IS 'The saga''s id, a colon and step_index';
COMMENT ON COLUMN sagapost.saga_steps.saga_id IS 'Its saga';
COMMENT ON COLUMN sagapost.saga_steps.step_index IS 'Place of the step in its saga, from 0';
COMMENT ON COLUMN sagapost.saga_steps.name IS 'As in its definition';
COMMENT ON COLUMN sagapost.saga_steps.state IS
  '0 Pending, 1 Running, 2 Completed, 3 Failed, 4 Compensating, 5 Compensated, 6 Skipped';
COMMENT ON COLUMN sagapost.saga_steps.attempts IS 'How many runs have begun';
COMMENT ON COLUMN sagapost.saga_steps.max_attempts IS
  'How many runs may begin: more than its policy says after an interruption, and past the pivot';
COMMENT ON COLUMN sagapost.saga_steps.created_at IS 'When the saga was stored';
COMMENT ON COLUMN sagapost.saga_steps.started_at IS 'When its first run began';
COMMENT ON COLUMN sagapost.saga_steps.completed_at IS 'When its run succeeded';
COMMENT ON COLUMN sagapost.saga_steps.last_attempt_at IS 'When its last run began';
COMMENT ON COLUMN sagapost.saga_steps.input_data IS
  'What was new to it when it first began: {outputs} of the steps right before it by name, or {input} of the saga if there are none; up to 64 KiB, what does not fit is left out';
COMMENT ON COLUMN sagapost.saga_steps.output_data IS 'What it returned';
COMMENT ON COLUMN sagapost.saga_steps.error IS 'Of its last run, if that failed: see is_saga_error';
COMMENT ON COLUMN sagapost.saga_steps.compensation_state IS
  '{state, attempts, max_attempts, started_at?, completed_at?, error?}, state as in saga_steps.state: see is_saga_compensation_state';
COMMENT ON COLUMN sagapost.saga_steps.metadata IS 'For operators, as in its definition';
COMMENT ON COLUMN sagapost.saga_steps.waits_for IS
  'The topic that it waits or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step>. Kept after the wait: the undo of a child finds it here';
COMMENT ON COLUMN sagapost.saga_steps.wake_at IS
  'When a sleep ends, a wait ends without its signal, or a failed run is retried';
COMMENT ON COLUMN sagapost.saga_steps.progress IS
  'How far the step has come, also afterwards; only steps of Sagapost''s own sagas write it, in the transaction of their work';

COMMENT ON TABLE sagapost.saga_events IS
  'Audit trail of general sagas: append-only, removed only together with its saga';
COMMENT ON COLUMN sagapost.saga_events.id IS 'Grows with the table; sequence is the order within a saga';
COMMENT ON COLUMN sagapost.saga_events.saga_id IS 'The saga that it happened to';
COMMENT ON COLUMN sagapost.saga_events.event_type IS 'One of seventeen: see saga_events_event_type_known';
COMMENT ON COLUMN sagapost.saga_events.step_id IS 'The step concerned, if any; no foreign key, a step may be replaced';
COMMENT ON COLUMN sagapost.saga_events.step_index IS 'The step concerned, if any';
COMMENT ON COLUMN sagapost.saga_events."timestamp" IS 'When it was written, with the change that it describes';
COMMENT ON COLUMN sagapost.saga_events.event_data IS
  '{attempt?, waits_for?, cause?, action?, by?, why?}: which attempt, what it waits for, why it is undone or skipped, an operator''s decision';
COMMENT ON COLUMN sagapost.saga_events.old_state IS
  'State before the change: of the step if step_id is set, otherwise of the saga';
COMMENT ON COLUMN sagapost.saga_events.new_state IS
  'State after the change: of the step if step_id is set, otherwise of the saga';
COMMENT ON COLUMN sagapost.saga_events.error IS
  'Why a run, a compensation or the saga failed: see is_saga_error. At the end of a saga without stacks, which the failure of the step has';
COMMENT ON COLUMN sagapost.saga_events.trace_id IS 'The saga''s';
COMMENT ON COLUMN sagapost.saga_events.span_id IS 'W3C span id of the attempt, or else of the saga';
COMMENT ON COLUMN sagapost.saga_events.metadata IS
  '{coordinator}: its lease_owner, in the first entry after a coordinator has claimed the saga';
COMMENT ON COLUMN sagapost.saga_events.sequence IS 'Its place in the history of its saga, from 1, without gaps';
