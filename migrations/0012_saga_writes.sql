-- How coordinators write [G15]: many sagas in one call, with one plan and one commit.

-- Functions, so that every connection plans them once, also behind a pooler, and never for a table that was empty at
-- that moment: their settings leave the planner nothing but the indexes. They run with the rights of their caller.

-- A publishing saga stores an event for each entry that the same statement writes to its history, in the same order.
-- `entries`: [{saga_id, before, events, step_names?}], events as in write_saga_changes; `before` is the number of the
-- entry before the first. The saga's data, messages of errors, and an operator's name and words stay out.
CREATE FUNCTION sagapost.publish_saga_history(entries jsonb, at_once timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  saga_states constant text[] := ARRAY['Pending', 'Running', 'StepCompleted', 'Completed', 'Compensating', 'Compensated',
    'Failed', 'Cancelled', 'TimedOut'];
  step_states constant text[] := ARRAY['Pending', 'Running', 'Completed', 'Failed', 'Compensating', 'Compensated',
    'Skipped'];
  stored integer;
BEGIN
  INSERT INTO sagapost.events (event_type, payload, correlation_id, traceparent)
  SELECT CASE
           WHEN event.type = 'compensation.completed' AND event.new_state = 5 THEN 'saga.compensated'
           WHEN starts_with(event.type, 'saga.') THEN event.type
           ELSE 'saga.' || event.type END,
         row_to_json(told), saga.id, '00-' || told."traceId" || '-' || told."spanId" || '-01'
  FROM ROWS FROM (jsonb_to_recordset(entries) AS (saga_id text, before int, events jsonb, step_names text[]))
    WITH ORDINALITY AS entry (saga_id, before, events, step_names, turn)
  JOIN sagapost.saga_instances AS saga ON saga.id = entry.saga_id AND saga.publishes
  CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(entry.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, error jsonb, span_id text)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, error, span_id, place)
  LEFT JOIN sagapost.saga_steps AS step ON step.saga_id = entry.saga_id AND step.step_index = event.step_index
  CROSS JOIN LATERAL (
    SELECT saga.id AS "sagaId", saga.definition_id AS definition, saga.definition_version AS version,
           entry.before + event.place AS sequence, event.type,
           coalesce(entry.step_names[event.step_index + 1], step.name) AS step, event.step_index AS "stepIndex",
           (CASE WHEN event.step_index IS NULL THEN saga_states ELSE step_states END)[event.old_state + 1] AS "oldState",
           (CASE WHEN event.step_index IS NULL THEN saga_states ELSE step_states END)[event.new_state + 1] AS "newState",
           to_char(at_once AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at,
           event.data - '{by,why}'::text[] AS data, event.error ->> 'code' AS "errorCode", saga.parent_id AS "parentId",
           saga.trace_id AS "traceId", coalesce(event.span_id, saga.span_id) AS "spanId"
  ) AS told
  ORDER BY entry.turn, event.place;
  GET DIAGNOSTICS stored = ROW_COUNT;
  RETURN stored;
END
$$;
COMMENT ON FUNCTION sagapost.publish_saga_history(jsonb, timestamptz) IS
  'Stores entries of the histories of publishing sagas as events; returns how many';

-- Stores sagas with their steps. One that comes with a lease needs no claim; one that comes with events has begun: they
-- are the intent of its first step. A saga whose key was used before is missing in the answer; while another
-- transaction holds the key, this waits for its end.
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
      step_names text[], step_attempts int[], events jsonb, parent_id text, publishes boolean, name text,
      description text, step_metadata jsonb, first_input text)
  ), made AS (
    INSERT INTO sagapost.saga_instances AS saga
      (id, definition_id, definition_version, idempotency_key, state, current_step, total_steps, created_at, updated_at,
       started_at, initial_data, timeout_ms, deadline_at, retry_policy, metadata, trace_id, span_id,
       lease_owner, lease_until, wake_at, version, event_count, parent_id, publishes, name, description)
    SELECT new.id, new.definition_id, new.definition_version, new.idempotency_key,
           CASE WHEN new.events IS NULL THEN 0 ELSE 1 END, 0, cardinality(new.step_names), at_once, at_once,
           CASE WHEN new.events IS NULL THEN NULL ELSE at_once END, new.input::jsonb, new.timeout_ms,
           at_once + new.timeout_ms * interval '1 ms', new.retry_policy, new.metadata, new.trace_id, new.span_id,
           new.lease_owner, at_once + new.lease_ms * interval '1 ms',
           at_once + coalesce(new.lease_ms, 0) * interval '1 ms',
           CASE WHEN new.lease_owner IS NULL THEN 0 ELSE 1 END, coalesce(jsonb_array_length(new.events), 0),
           new.parent_id, coalesce(new.publishes, false), new.name, new.description
    FROM new
    ON CONFLICT (definition_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING saga.id
  ), stepped AS (
    INSERT INTO sagapost.saga_steps
      (id, saga_id, step_index, name, state, attempts, max_attempts, created_at, started_at, last_attempt_at,
       input_data, metadata)
    SELECT new.id || ':' || (step.place - 1), new.id, step.place - 1, step.name,
           begun.runs, begun.runs, step.max_attempts, at_once,
           CASE begun.runs WHEN 1 THEN at_once END, CASE begun.runs WHEN 1 THEN at_once END,
           CASE begun.runs WHEN 1 THEN new.first_input::jsonb END,
           nullif(new.step_metadata -> (step.place - 1)::int, 'null')
    FROM made JOIN new ON new.id = made.id
    CROSS JOIN LATERAL unnest(new.step_names, new.step_attempts) WITH ORDINALITY AS step (name, max_attempts, place)
    CROSS JOIN LATERAL (SELECT (new.events IS NOT NULL AND step.place = 1)::int AS runs) AS begun
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, step_id, step_index, "timestamp", old_state, new_state, event_data, metadata,
       trace_id, span_id)
    SELECT new.id, event.place, event.type, new.id || ':' || event.step_index, event.step_index, at_once,
           event.old_state, event.new_state, event.data, event.metadata, new.trace_id,
           coalesce(event.span_id, new.span_id)
    FROM made JOIN new ON new.id = made.id
    CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(new.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, span_id text, metadata jsonb)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, span_id, metadata, place)
  ), published AS (
    SELECT count(sagapost.publish_saga_history(batch.entries, at_once))
    FROM (
      SELECT jsonb_agg(jsonb_build_object(
               'saga_id', new.id, 'before', 0, 'events', new.events, 'step_names', new.step_names)) AS entries
      FROM new JOIN made ON made.id = new.id WHERE new.publishes AND new.events IS NOT NULL
    ) AS batch
    WHERE batch.entries IS NOT NULL
  )
  SELECT made.id, at_once FROM made CROSS JOIN published;
END
$$;
COMMENT ON FUNCTION sagapost.start_sagas(jsonb) IS
  'Stores sagas with their steps and, if they begin at once, their first events; returns the stored ones';

-- The changes of many sagas. One whose fence (`version`) is outdated drops out of `moved`, with its steps, events,
-- children and news. A released saga is due at once if it was woken meanwhile, or cancelled before its pivot; at its
-- deadline at the latest, unless it is past its pivot or waits for its parent. A locked row delays the batch for half a
-- second at most; then the coordinator tries each saga alone.
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
      wake_at timestamptz, set_aside boolean, pivoted boolean, events_written int, steps jsonb, events jsonb,
      children jsonb, wakes jsonb,
      publications jsonb, current text)
  ), moved AS (
    UPDATE sagapost.saga_instances AS saga SET
      state = change.state,
      current_step = change.current_step,
      error = change.error,
      awaiting_operator = coalesce(change.awaiting_operator, false),
      updated_at = at_once,
      result_data = coalesce(change.result::jsonb, saga.result_data),
      current_data = coalesce(change.current::jsonb, saga.current_data),
      started_at = CASE WHEN change.started THEN coalesce(saga.started_at, at_once) ELSE saga.started_at END,
      completed_at = CASE WHEN change.finished THEN at_once
                          WHEN change.state IN (0, 1, 2, 4) THEN NULL ELSE saga.completed_at END,
      timed_out_at = CASE WHEN change.timed_out THEN at_once ELSE saga.timed_out_at END,
      lease_owner = CASE WHEN change.released THEN NULL ELSE saga.lease_owner END,
      lease_until = CASE WHEN change.released THEN NULL ELSE lease_end END,
      pivoted_at = CASE WHEN change.pivoted THEN coalesce(saga.pivoted_at, at_once) ELSE saga.pivoted_at END,
      wake_at = CASE
        WHEN change.released IS NOT TRUE THEN lease_end
        WHEN change.state NOT IN (0, 1, 2, 4) THEN NULL
        WHEN change.set_aside THEN at_once + change.wake_in_ms * interval '1 ms'
        WHEN saga.woken THEN at_once
        WHEN change.state = 4 OR change.pivoted OR saga.pivoted_at IS NOT NULL
          THEN least(at_once + change.wake_in_ms * interval '1 ms', change.wake_at)
        WHEN saga.cancel_requested_at IS NOT NULL THEN at_once
        WHEN change.current_step >= saga.total_steps THEN at_once + change.wake_in_ms * interval '1 ms'
        ELSE least(at_once + change.wake_in_ms * interval '1 ms', change.wake_at, saga.deadline_at) END,
      version = saga.version + 1,
      event_count = saga.event_count + change.events_written
    FROM change
    WHERE saga.id = change.saga_id AND saga.version = change.version
      AND saga.lease_owner IS NOT DISTINCT FROM change.owner
    RETURNING saga.id, saga.trace_id, saga.span_id, saga.event_count - change.events_written AS events_before,
              change.steps, change.events, change.children, change.wakes, change.publications, saga.publishes,
              saga.cancel_requested_at IS NOT NULL AS cancel_requested,
              coalesce(saga.deadline_at <= at_once, false) AS overdue
  ), stepped AS (
    UPDATE sagapost.saga_steps AS step SET
      state = to_be.state,
      attempts = to_be.attempts,
      max_attempts = to_be.max_attempts,
      error = to_be.error,
      compensation_state = to_be.compensation,
      input_data = coalesce(to_be.input::jsonb, step.input_data),
      output_data = coalesce(to_be.output::jsonb, step.output_data),
      started_at = CASE WHEN to_be.started THEN coalesce(step.started_at, at_once) ELSE step.started_at END,
      last_attempt_at = CASE WHEN to_be.started THEN at_once ELSE step.last_attempt_at END,
      completed_at = CASE WHEN to_be.finished THEN at_once ELSE step.completed_at END,
      waits_for = to_be.waits_for,
      wake_at = coalesce(to_be.wake_at, at_once + to_be.wake_in_ms * interval '1 ms')
    FROM moved CROSS JOIN LATERAL jsonb_to_recordset(moved.steps) AS to_be (
      index int, state int, attempts int, max_attempts int, error jsonb, compensation jsonb, output text,
      started boolean, finished boolean, waits_for text, wake_in_ms bigint, wake_at timestamptz, input text)
    WHERE step.saga_id = moved.id AND step.step_index = to_be.index
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, step_id, step_index, "timestamp", old_state, new_state, event_data, metadata,
       error, trace_id, span_id)
    SELECT moved.id, moved.events_before + event.place, event.type, moved.id || ':' || event.step_index,
           event.step_index, at_once, event.old_state, event.new_state, event.data, event.metadata, event.error,
           moved.trace_id, coalesce(event.span_id, moved.span_id)
    FROM moved CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(moved.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, error jsonb, span_id text,
      metadata jsonb)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, error, span_id, metadata, place)
  ), woke AS (
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT topic FROM moved CROSS JOIN LATERAL jsonb_array_elements_text(moved.wakes) AS topic
    WHERE moved.wakes IS NOT NULL
  ), born AS (
    SELECT count(*) FROM moved CROSS JOIN LATERAL sagapost.start_sagas(moved.children)
    WHERE moved.children IS NOT NULL
  ), published AS (
    SELECT count(sagapost.publish_saga_history(batch.entries, at_once))
    FROM (
      SELECT jsonb_agg(jsonb_build_object(
               'saga_id', moved.id, 'before', moved.events_before, 'events', moved.events)) AS entries
      FROM moved WHERE moved.publishes
    ) AS batch
    WHERE batch.entries IS NOT NULL
  ), posted AS (
    SELECT count(sagapost.publish_awaited_events(batch.entries))
    FROM (
      SELECT jsonb_agg(publication || jsonb_build_object('saga_id', moved.id)) AS entries
      FROM moved CROSS JOIN LATERAL jsonb_array_elements(moved.publications) AS publication
      WHERE moved.publications IS NOT NULL
    ) AS batch
    WHERE batch.entries IS NOT NULL
  )
  SELECT moved.id, moved.cancel_requested, moved.overdue, at_once
  FROM moved CROSS JOIN born CROSS JOIN published CROSS JOIN posted;
END
$$;
COMMENT ON FUNCTION sagapost.write_saga_changes(jsonb, bigint) IS
  'Writes changes of sagas, each under its fence, with their events; returns the sagas that it wrote';
