-- How a coordinator writes: many sagas by one call, one plan, one commit [G15]; and what a write costs in indexes.
-- docs/internals/decisions.md has the figures.

-- JSON shapes [G5] -----------------------------------------------------------------------------------------
--
-- The same answers as in 0007. In SQL they are inlined into the checks of their tables, and a check is planned again by
-- every statement: that was 1 ms of each write, most of it for errors that are null. In PL/pgSQL they are planned once by
-- a connection, when there is something to look at.

CREATE OR REPLACE FUNCTION sagapost.is_saga_error(value jsonb) RETURNS boolean
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

CREATE OR REPLACE FUNCTION sagapost.is_saga_retry_policy(value jsonb) RETURNS boolean
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

CREATE OR REPLACE FUNCTION sagapost.is_saga_compensation_state(value jsonb) RETURNS boolean
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

-- [G6] The list of 0007, for the same reason: as a list of 17 texts in the check it was a tenth of a small write.
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
REVOKE EXECUTE ON FUNCTION sagapost.is_saga_event_type(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.is_saga_event_type(text) TO saga_app_role;

ALTER TABLE sagapost.saga_events
  DROP CONSTRAINT saga_events_event_type_known,
  ADD CONSTRAINT saga_events_event_type_known CHECK (sagapost.is_saga_event_type(event_type));

-- Indexes [G4] ---------------------------------------------------------------------------------------------
--
-- A saga of three steps writes four versions of its row, eight of its steps' and eight events. What is found by
-- another index, or lies in the order of its time anyway, is kept as BRIN, as 0007 did with the two on saga_id: a few
-- pages, and nearly nothing to pay for a new row. Ids of sagas and traces grow with time (src/sagas/new-ids.ts), so
-- that each range of pages has its own.

-- Terminal ones by that time are idx_saga_terminal_cleanup's, active ones idx_saga_state_updated's.
DROP INDEX sagapost.idx_saga_updated_at;
CREATE INDEX idx_saga_updated_at ON sagapost.saga_instances USING brin (updated_at);

-- idx_saga_definition_state goes on after the definition.
DROP INDEX sagapost.idx_saga_definition_id;
CREATE INDEX idx_saga_definition_id ON sagapost.saga_instances USING brin (definition_id);

DROP INDEX sagapost.idx_saga_started_at;
CREATE INDEX idx_saga_started_at ON sagapost.saga_instances USING brin (started_at) WHERE started_at IS NOT NULL;

-- No row without metadata is searched for by it, but each would be in the list of those that have none.
DROP INDEX sagapost.idx_saga_metadata;
CREATE INDEX idx_saga_metadata ON sagapost.saga_instances USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;

-- A saga has a handful of steps: idx_step_saga_index finds them, whatever their state.
DROP INDEX sagapost.idx_step_saga_state;
CREATE INDEX idx_step_saga_state ON sagapost.saga_steps USING brin (saga_id, state);

-- Nearly all steps are Completed: whoever wants those reads the table.
DROP INDEX sagapost.idx_step_state;
CREATE INDEX idx_step_state ON sagapost.saga_steps (state) WHERE state IN (0, 1, 3, 4, 5, 6);

-- As idx_event_saga_id: idx_event_saga_timestamp finds the few of a saga, whatever their type.
DROP INDEX sagapost.idx_event_saga_type;
CREATE INDEX idx_event_saga_type ON sagapost.saga_events USING brin (saga_id, event_type);

-- The id of a step begins with that of its saga.
DROP INDEX sagapost.idx_event_step_id;
CREATE INDEX idx_event_step_id ON sagapost.saga_events USING brin (step_id) WITH (pages_per_range = 16)
  WHERE step_id IS NOT NULL;

-- idx_event_type_timestamp goes on after the type.
DROP INDEX sagapost.idx_saga_events_type;
CREATE INDEX idx_saga_events_type ON sagapost.saga_events USING brin (event_type);

-- The time of writes ---------------------------------------------------------------------------------------
--
-- sagapost.now() is when the transaction began. A transaction step may take longer than a lease: what is written at its
-- end is of that moment, else it would set its own lease, and every timestamp, back. Tests move both clocks.
CREATE FUNCTION sagapost.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN pg_catalog.clock_timestamp();
REVOKE EXECUTE ON FUNCTION sagapost.clock() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.clock() TO saga_app_role;

-- [G9] as in 0007, but a moment of this transaction may be given (that of the write), and the time never goes back.
CREATE OR REPLACE FUNCTION sagapost.update_saga_updated_at() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT (NEW.updated_at > sagapost.now() AND NEW.updated_at <= sagapost.clock()) THEN
    NEW.updated_at := sagapost.now();
  END IF;
  RETURN NEW;
END
$$;

-- Writes ---------------------------------------------------------------------------------------------------
--
-- Functions, so that every connection plans them once, also behind a pooler, and never for a table that was empty at
-- that moment: the settings leave the planner nothing but the indexes. They run with their caller's rights.

-- Saves sagas with their steps. One that comes with a lease need not be claimed, and with events it is begun: they
-- are those of its first step's intent. A saga whose key was used before is left out of the answer; while another transaction holds the
-- key, this waits for its end.
CREATE FUNCTION sagapost.start_sagas(given jsonb) RETURNS TABLE (saga_id varchar, moment timestamptz)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
AS $$
DECLARE
  at_once constant timestamptz := sagapost.clock();
BEGIN
  RETURN QUERY
  WITH new AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(given) AS new (
      id text, definition_id text, definition_version int, idempotency_key text, input text, timeout_ms bigint,
      retry_policy jsonb, metadata jsonb, trace_id text, span_id text, lease_owner text, lease_ms bigint,
      step_names text[], step_attempts int[], events jsonb)
  ), made AS (
    INSERT INTO sagapost.saga_instances AS saga
      (id, definition_id, definition_version, idempotency_key, state, current_step, total_steps, created_at, updated_at,
       started_at, initial_data, timeout_ms, deadline_at, retry_policy, metadata, trace_id, span_id,
       lease_owner, lease_until, wake_at, version, event_count)
    SELECT new.id, new.definition_id, new.definition_version, new.idempotency_key,
           CASE WHEN new.events IS NULL THEN 0 ELSE 1 END, 0, cardinality(new.step_names), at_once, at_once,
           CASE WHEN new.events IS NULL THEN NULL ELSE at_once END, new.input::jsonb, new.timeout_ms,
           at_once + new.timeout_ms * interval '1 ms', new.retry_policy, new.metadata, new.trace_id, new.span_id,
           new.lease_owner, at_once + new.lease_ms * interval '1 ms',
           at_once + coalesce(new.lease_ms, 0) * interval '1 ms',
           CASE WHEN new.lease_owner IS NULL THEN 0 ELSE 1 END, coalesce(jsonb_array_length(new.events), 0)
    FROM new
    ON CONFLICT (definition_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING saga.id
  ), stepped AS (
    INSERT INTO sagapost.saga_steps
      (id, saga_id, step_index, name, state, attempts, max_attempts, created_at, started_at, last_attempt_at)
    SELECT new.id || ':' || (step.place - 1), new.id, step.place - 1, step.name,
           begun.runs, begun.runs, step.max_attempts, at_once,
           CASE begun.runs WHEN 1 THEN at_once END, CASE begun.runs WHEN 1 THEN at_once END
    FROM made JOIN new ON new.id = made.id
    CROSS JOIN LATERAL unnest(new.step_names, new.step_attempts) WITH ORDINALITY AS step (name, max_attempts, place)
    CROSS JOIN LATERAL (SELECT (new.events IS NOT NULL AND step.place = 1)::int AS runs) AS begun
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, step_id, step_index, "timestamp", old_state, new_state, event_data, trace_id, span_id)
    SELECT new.id, event.place, event.type, new.id || ':' || event.step_index, event.step_index, at_once,
           event.old_state, event.new_state, event.data, new.trace_id, coalesce(event.span_id, new.span_id)
    FROM made JOIN new ON new.id = made.id
    CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(new.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, span_id text)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, span_id, place)
  )
  SELECT made.id, at_once FROM made;
END
$$;

-- Many sagas' changes. A saga whose fence is not the last one drops out of `moved`, and its steps and events with it.
-- Found by primary key and idx_step_saga_index; `sequence` counts on under the lock of the saga's row. A saga that is
-- let go wakes at its deadline at the latest, and at once when somebody asked to cancel it meanwhile; not so one that is set aside.
-- Whoever waits for a row that somebody holds keeps a whole batch waiting: not for long, then each is tried alone.
CREATE FUNCTION sagapost.write_saga_changes(given jsonb, lease_ms bigint)
RETURNS TABLE (saga_id varchar, cancel_requested boolean, overdue boolean, moment timestamptz)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '500ms'
AS $$
DECLARE
  at_once constant timestamptz := sagapost.clock();
  lease_end constant timestamptz := at_once + lease_ms * interval '1 ms';
BEGIN
  RETURN QUERY
  WITH change AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(given) AS change (
      saga_id text, owner text, version bigint, state int, current_step int, error jsonb, awaiting_operator boolean,
      result text, started boolean, finished boolean, timed_out boolean, released boolean, wake_in_ms bigint,
      set_aside boolean, events_written int, steps jsonb, events jsonb)
  ), moved AS (
    UPDATE sagapost.saga_instances AS saga SET
      state = change.state,
      current_step = change.current_step,
      error = change.error,
      awaiting_operator = coalesce(change.awaiting_operator, false),
      updated_at = at_once,
      result_data = coalesce(change.result::jsonb, saga.result_data),
      started_at = CASE WHEN change.started THEN coalesce(saga.started_at, at_once) ELSE saga.started_at END,
      completed_at = CASE WHEN change.finished THEN at_once
                          WHEN change.state IN (0, 1, 2, 4) THEN NULL ELSE saga.completed_at END,
      timed_out_at = CASE WHEN change.timed_out THEN at_once ELSE saga.timed_out_at END,
      lease_owner = CASE WHEN change.released THEN NULL ELSE saga.lease_owner END,
      lease_until = CASE WHEN change.released THEN NULL ELSE lease_end END,
      wake_at = CASE
        WHEN change.released IS NOT TRUE THEN lease_end
        WHEN change.wake_in_ms IS NULL THEN NULL
        WHEN change.state = 4 OR change.set_aside THEN at_once + change.wake_in_ms * interval '1 ms'
        WHEN saga.cancel_requested_at IS NOT NULL THEN at_once
        ELSE least(at_once + change.wake_in_ms * interval '1 ms', saga.deadline_at) END,
      version = saga.version + 1,
      event_count = saga.event_count + change.events_written
    FROM change
    WHERE saga.id = change.saga_id AND saga.version = change.version
      AND saga.lease_owner IS NOT DISTINCT FROM change.owner
    RETURNING saga.id, saga.trace_id, saga.span_id, saga.event_count - change.events_written AS events_before,
              change.steps, change.events, saga.cancel_requested_at IS NOT NULL AS cancel_requested,
              coalesce(saga.deadline_at <= at_once, false) AS overdue
  ), stepped AS (
    UPDATE sagapost.saga_steps AS step SET
      state = to_be.state,
      attempts = to_be.attempts,
      max_attempts = to_be.max_attempts,
      error = to_be.error,
      compensation_state = to_be.compensation,
      output_data = coalesce(to_be.output::jsonb, step.output_data),
      started_at = CASE WHEN to_be.started THEN coalesce(step.started_at, at_once) ELSE step.started_at END,
      last_attempt_at = CASE WHEN to_be.started THEN at_once ELSE step.last_attempt_at END,
      completed_at = CASE WHEN to_be.finished THEN at_once ELSE step.completed_at END
    FROM moved CROSS JOIN LATERAL jsonb_to_recordset(moved.steps) AS to_be (
      index int, state int, attempts int, max_attempts int, error jsonb, compensation jsonb, output text,
      started boolean, finished boolean)
    WHERE step.saga_id = moved.id AND step.step_index = to_be.index
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, step_id, step_index, "timestamp", old_state, new_state, event_data, error,
       trace_id, span_id)
    SELECT moved.id, moved.events_before + event.place, event.type, moved.id || ':' || event.step_index,
           event.step_index, at_once, event.old_state, event.new_state, event.data, event.error, moved.trace_id,
           coalesce(event.span_id, moved.span_id)
    FROM moved CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(moved.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, error jsonb, span_id text)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, error, span_id, place)
  )
  SELECT moved.id, moved.cancel_requested, moved.overdue, at_once FROM moved;
END
$$;

REVOKE EXECUTE ON FUNCTION sagapost.start_sagas(jsonb), sagapost.write_saga_changes(jsonb, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.start_sagas(jsonb), sagapost.write_saga_changes(jsonb, bigint) TO saga_app_role;

COMMENT ON FUNCTION sagapost.start_sagas(jsonb) IS
  'Saves sagas with their steps and, if they are begun at once, their first events; answers those it made';
COMMENT ON FUNCTION sagapost.write_saga_changes(jsonb, bigint) IS
  'Writes changes of sagas, each under its fence, with their events; answers those it wrote';
