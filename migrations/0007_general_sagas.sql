-- General sagas: instances [G1], steps [G2], the audit trail [G3], their indexes [G4, G10], JSON shapes [G5],
-- views [G7], cleaning up [G8] and updated_at [G9]. docs/reference/general-sagas-schema.md is the reader's page.

-- JSON shapes [G5] -----------------------------------------------------------------------------------------
--
-- Each answers true or false for any jsonb and never raises: every cast stands in a CASE behind the test of its
-- type. Their bodies are parsed when they are made, so that no search_path can change what they mean: they need
-- none pinned (which would keep them from being inlined), and a dump restores them as they are.

-- A JSON number without a fraction, within the bounds.
CREATE FUNCTION sagapost.is_json_integer(value jsonb, low bigint, high bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN jsonb_typeof(value) = 'number'
  THEN value::numeric BETWEEN low AND high AND trunc(value::numeric) = value::numeric
  ELSE false
END;

-- A date and time by RFC 3339, section 5.6, with days that exist. A pattern, since a cast to timestamptz would
-- raise and depends on the session's settings.
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

-- {code, message, type?, retryable?, timestamp?, stack_trace?, details?, cause?}: an optional key may be absent
-- or null. A cause is an error itself; the chain has at most 32 errors.
CREATE FUNCTION sagapost.is_saga_error(value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
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

-- {max_attempts, initial_interval_ms?, max_interval_ms?, multiplier?, retry_on?}: an optional key may be absent
-- or null. Intervals end at 2^53 − 1, the largest integer that every reader of JSON keeps exactly.
CREATE FUNCTION sagapost.is_saga_retry_policy(value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
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

-- {state, attempts, max_attempts, started_at?, completed_at?, error?}: an optional key may be absent or null.
-- The states are a step's.
CREATE FUNCTION sagapost.is_saga_compensation_state(value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
  jsonb_typeof(value) = 'object'
  AND sagapost.is_json_integer(value -> 'state', 0, 6)
  AND sagapost.is_json_integer(value -> 'attempts', 0, 2147483647)
  AND sagapost.is_json_integer(value -> 'max_attempts', 1, 2147483647)
  AND (value ->> 'started_at' IS NULL OR sagapost.is_rfc3339(value ->> 'started_at'))
  AND (value ->> 'completed_at' IS NULL OR sagapost.is_rfc3339(value ->> 'completed_at'))
  AND (value ->> 'error' IS NULL OR sagapost.is_saga_error(value -> 'error'))
) IS TRUE;

-- Tables ---------------------------------------------------------------------------------------------------

CREATE TABLE sagapost.saga_instances (
  id                varchar(255) NOT NULL,
  definition_id     varchar(255) NOT NULL,
  name              varchar(255),
  description       text,
  state             integer      NOT NULL,
  current_step      integer      NOT NULL,
  total_steps       integer      NOT NULL,
  created_at        timestamptz  NOT NULL DEFAULT sagapost.now(),
  updated_at        timestamptz  NOT NULL DEFAULT sagapost.now(),
  started_at        timestamptz,
  completed_at      timestamptz,
  timed_out_at      timestamptz,
  initial_data      jsonb,
  current_data      jsonb,
  result_data       jsonb,
  error             jsonb,
  timeout_ms        bigint,
  retry_policy      jsonb,
  metadata          jsonb,
  trace_id          varchar(255),
  span_id           varchar(255),
  awaiting_operator boolean      NOT NULL DEFAULT false,
  CONSTRAINT saga_instances_pkey PRIMARY KEY (id),
  CONSTRAINT saga_instances_state_range CHECK (state BETWEEN 0 AND 8),
  CONSTRAINT saga_instances_current_step_not_negative CHECK (current_step >= 0),
  CONSTRAINT saga_instances_total_steps_not_negative CHECK (total_steps >= 0),
  CONSTRAINT saga_instances_timeout_positive CHECK (timeout_ms > 0),
  CONSTRAINT saga_instances_error_shape CHECK (error IS NULL OR sagapost.is_saga_error(error)),
  CONSTRAINT saga_instances_retry_policy_shape
    CHECK (retry_policy IS NULL OR sagapost.is_saga_retry_policy(retry_policy)),
  CONSTRAINT saga_instances_awaiting_operator_is_failed CHECK (state = 6 OR NOT awaiting_operator)
);

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
  CONSTRAINT saga_events_pkey PRIMARY KEY (id),
  CONSTRAINT fk_saga_events_saga
    FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE,
  CONSTRAINT saga_events_event_type_known CHECK (event_type IN (
    'saga.started', 'saga.step.started', 'saga.step.completed', 'saga.step.failed',
    'saga.completed', 'saga.failed', 'saga.cancelled', 'saga.timed_out',
    'compensation.started', 'compensation.step.started', 'compensation.step.completed',
    'compensation.step.failed', 'compensation.completed', 'compensation.failed',
    'retry.attempted', 'retry.exhausted',
    'state.changed'
  )),
  CONSTRAINT saga_events_step_index_not_negative CHECK (step_index >= 0),
  CONSTRAINT saga_events_old_state_range CHECK (old_state BETWEEN 0 AND 8),
  CONSTRAINT saga_events_new_state_range CHECK (new_state BETWEEN 0 AND 8),
  CONSTRAINT saga_events_error_shape CHECK (error IS NULL OR sagapost.is_saga_error(error))
);

-- Indexes [G4] ---------------------------------------------------------------------------------------------
--
-- Several named indexes begin with the same column, and the planner takes the one that seems cheapest by a page.
-- Where a query pattern of the document names another one [G10], the definitions below keep the rival out: by its
-- price, or by a predicate that the pattern does not imply. The EXPLAIN tests hold every plan.
--
-- `WHERE x IS NOT NULL` on a column that is NOT NULL leaves out no row. Any comparison with x implies it, a query
-- without one does not: the index is there for queries that bound x, and for no others. (PostgreSQL 19 sees
-- through it: pattern 1 may then be read from idx_saga_filter_state_timeout, in order and without a sort.)

-- Pattern 1, active sagas by creation, and lists of any state, newest first.
CREATE INDEX idx_saga_state_created ON sagapost.saga_instances (state, created_at);

-- Active states are left to idx_saga_state_created: for pattern 1 this index, a fifth of its size, would win. A
-- running saga's updates do not touch it.
CREATE INDEX idx_saga_state ON sagapost.saga_instances (state) WHERE state IN (0, 3, 5, 6, 7, 8);

-- Active sagas that have not moved since a moment (finished ones by that time are idx_saga_terminal_cleanup's). Its
-- second condition keeps it from pattern 1, which has no bound on the time.
CREATE INDEX idx_saga_state_updated ON sagapost.saga_instances (state, updated_at)
  WHERE state IN (1, 2, 4) AND updated_at IS NOT NULL;

-- Pattern 2, active sagas older than a moment: the few rows that can time out, in the order they will. Without
-- its second condition it would serve pattern 1 too. Page through active sagas with a bound on created_at
-- ('-infinity' for the first page): a LIMIT without one walks idx_saga_created_at past every finished saga.
CREATE INDEX idx_saga_filter_state_timeout ON sagapost.saga_instances (created_at)
  WHERE state IN (1, 2, 4) AND created_at IS NOT NULL;

-- cleanup_expired_sagas, and failed_sagas in its order.
CREATE INDEX idx_saga_terminal_cleanup ON sagapost.saga_instances (updated_at) WHERE state IN (3, 5, 6, 7, 8);

CREATE INDEX idx_saga_definition_id ON sagapost.saga_instances (definition_id);

-- How one definition's sagas stand. With few definitions PostgreSQL 18 would skip-scan it for pattern 1.
CREATE INDEX idx_saga_definition_state ON sagapost.saga_instances (definition_id, state)
  WHERE definition_id IS NOT NULL;

CREATE INDEX idx_saga_created_at ON sagapost.saga_instances (created_at);
CREATE INDEX idx_saga_updated_at ON sagapost.saga_instances (updated_at);
CREATE INDEX idx_saga_started_at ON sagapost.saga_instances (started_at) WHERE started_at IS NOT NULL;

-- state = 3 so that completed_sagas, which does not say that completed_at is set, is read in its order from here.
CREATE INDEX idx_saga_completed_at ON sagapost.saga_instances (completed_at)
  WHERE state = 3 OR completed_at IS NOT NULL;

-- Pattern 6.
CREATE INDEX idx_saga_trace_id ON sagapost.saga_instances (trace_id) WHERE trace_id IS NOT NULL;

-- metadata is searched by what it contains (@>, @?, @@). jsonb_path_ops serves just that, smaller and faster than
-- the default, which adds only the test for a key by itself (?).
CREATE INDEX idx_saga_metadata ON sagapost.saga_instances USING gin (metadata jsonb_path_ops);

-- Pattern 3, a saga's steps in their order; also the cascade from saga_instances.
CREATE INDEX idx_step_saga_index ON sagapost.saga_steps (saga_id, step_index);

-- One step per place [G2]. The columns stand the other way round: unique all the same, and the same target for
-- ON CONFLICT (saga_id, step_index), but for pattern 3 never as cheap as idx_step_saga_index, with which it would
-- tie otherwise (wider, with INCLUDE (name), it still did).
CREATE UNIQUE INDEX idx_step_unique_saga_index ON sagapost.saga_steps (step_index, saga_id);

-- Every query by saga_id is answered by an index that goes on after it. As a btree this one would double the cost
-- of storing that and draw pattern 3 away whenever saga ids grow with time; as BRIN it takes a few pages.
CREATE INDEX idx_step_saga_id ON sagapost.saga_steps USING brin (saga_id);

CREATE INDEX idx_step_saga_state ON sagapost.saga_steps (saga_id, state) WHERE state IS NOT NULL;
CREATE INDEX idx_step_state ON sagapost.saga_steps (state);

-- Pattern 5, failed steps with attempts left: these only. No index can search by attempts < max_attempts, but a
-- predicate can say it.
CREATE INDEX idx_step_state_attempts ON sagapost.saga_steps (state, attempts)
  WHERE state = 3 AND attempts < max_attempts;

-- Pattern 4, a saga's history, newest first; also the cascade from saga_instances.
CREATE INDEX idx_event_saga_timestamp ON sagapost.saga_events (saga_id, "timestamp" DESC);

-- As idx_step_saga_id.
CREATE INDEX idx_event_saga_id ON sagapost.saga_events USING brin (saga_id);

CREATE INDEX idx_event_saga_type ON sagapost.saga_events (saga_id, event_type) WHERE event_type IS NOT NULL;

-- idx_event_type in the document; that name belongs to sagapost.events [E1].
CREATE INDEX idx_saga_events_type ON sagapost.saga_events (event_type);
CREATE INDEX idx_event_type_timestamp ON sagapost.saga_events (event_type, "timestamp" DESC);
CREATE INDEX idx_event_timestamp ON sagapost.saga_events ("timestamp" DESC);
CREATE INDEX idx_event_step_id ON sagapost.saga_events (step_id) WHERE step_id IS NOT NULL;

-- Pattern 6.
CREATE INDEX idx_event_trace_id ON sagapost.saga_events (trace_id) WHERE trace_id IS NOT NULL;

-- updated_at [G9] ------------------------------------------------------------------------------------------

CREATE FUNCTION sagapost.update_saga_updated_at() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  NEW.updated_at := sagapost.now();
  RETURN NEW;
END
$$;

CREATE TRIGGER trigger_saga_updated_at
  BEFORE UPDATE ON sagapost.saga_instances
  FOR EACH ROW EXECUTE FUNCTION sagapost.update_saga_updated_at();

-- The audit trail -------------------------------------------------------------------------------------------
--
-- Refuses every change to saga_events but one: an event goes when its saga has gone. The cascade runs after the
-- saga's row was deleted, so that the row is missing here; for anyone else's DELETE the foreign key keeps it
-- there. (pg_trigger_depth() would let any trigger's DELETE pass, and refuse a subscriber that applies a
-- replicated cascade.)
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
ALTER TABLE sagapost.saga_events ENABLE ALWAYS TRIGGER saga_events_append_only;

CREATE TRIGGER saga_events_truncate_is_refused
  BEFORE TRUNCATE ON sagapost.saga_events
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse_saga_event_change();
ALTER TABLE sagapost.saga_events ENABLE ALWAYS TRIGGER saga_events_truncate_is_refused;

-- Cleaning up [G8] -----------------------------------------------------------------------------------------

-- Removes finished sagas last updated before older_than, with their steps and events, and returns how many. A
-- Failed saga that waits for an operator is kept. It runs with its caller's rights; the cascade with the owner's.
-- Planned for the moment given (a plan for any moment would expect to remove a third of the table).
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

-- Views [G7] -----------------------------------------------------------------------------------------------
--
-- With the rights of whoever reads them: a view widens nobody's.

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

-- Comments -------------------------------------------------------------------------------------------------

COMMENT ON TABLE sagapost.saga_instances IS 'General sagas: one row per run of a definition';
COMMENT ON COLUMN sagapost.saga_instances.state IS
  '0 Pending, 1 Running, 2 StepCompleted, 3 Completed, 4 Compensating, 5 Compensated, 6 Failed, 7 Cancelled, 8 TimedOut; active: 1, 2, 4; final: 3, 5, 6, 7, 8';
COMMENT ON COLUMN sagapost.saga_instances.current_step IS 'Index of the step being run, from 0';
COMMENT ON COLUMN sagapost.saga_instances.updated_at IS 'Set by trigger_saga_updated_at on every update';
COMMENT ON COLUMN sagapost.saga_instances.error IS
  '{code, message, type?, retryable?, timestamp?, stack_trace?, details?, cause?}: see is_saga_error';
COMMENT ON COLUMN sagapost.saga_instances.retry_policy IS
  '{max_attempts, initial_interval_ms?, max_interval_ms?, multiplier?, retry_on?}: see is_saga_retry_policy';
COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'A Failed saga whose compensation failed, until an operator resolves it; kept by cleanup_expired_sagas';

COMMENT ON TABLE sagapost.saga_steps IS 'The steps of general sagas: one row per saga and step index';
COMMENT ON COLUMN sagapost.saga_steps.step_index IS 'Place of the step in its saga, from 0';
COMMENT ON COLUMN sagapost.saga_steps.state IS
  '0 Pending, 1 Running, 2 Completed, 3 Failed, 4 Compensating, 5 Compensated, 6 Skipped';
COMMENT ON COLUMN sagapost.saga_steps.compensation_state IS
  '{state, attempts, max_attempts, started_at?, completed_at?, error?}, state as in saga_steps.state: see is_saga_compensation_state';

COMMENT ON TABLE sagapost.saga_events IS
  'Audit trail of general sagas: append-only, removed only together with its saga';
COMMENT ON COLUMN sagapost.saga_events.step_id IS 'The step concerned, if any; no foreign key, a step may be replaced';
COMMENT ON COLUMN sagapost.saga_events.old_state IS
  'State before the change: of the step if step_id is set, otherwise of the saga';
COMMENT ON COLUMN sagapost.saga_events.new_state IS
  'State after the change: of the step if step_id is set, otherwise of the saga';

COMMENT ON FUNCTION sagapost.cleanup_expired_sagas(timestamptz) IS
  'Removes sagas in states 3, 5, 6, 7, 8 last updated before the moment, but those awaiting an operator; returns how many';
