-- [G1, G2, G3] Every column of the tables of sagas has a meaning and a writer. docs/reference/general-sagas-schema.md is
-- the reader's page.

-- As in 0024, with the name and the description of a saga, the metadata of its steps, what its first one is given, and
-- who begins it.
CREATE OR REPLACE FUNCTION sagapost.start_sagas(given jsonb) RETURNS TABLE (saga_id varchar, moment timestamptz)
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

-- As in 0024, with what the saga's steps have returned, what a step is given, and who holds the saga.
CREATE OR REPLACE FUNCTION sagapost.write_saga_changes(given jsonb, lease_ms bigint)
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

-- What each column means -------------------------------------------------------------------------------------
--
-- Those that earlier migrations have not said.

COMMENT ON COLUMN sagapost.saga_instances.id IS 'UUID of version 7, made by whoever starts the saga';
COMMENT ON COLUMN sagapost.saga_instances.definition_id IS 'Name of its definition';
COMMENT ON COLUMN sagapost.saga_instances.name IS 'Of this one saga, for operators, as its starter told it';
COMMENT ON COLUMN sagapost.saga_instances.description IS 'Of this one saga, for operators, as its starter told it';
COMMENT ON COLUMN sagapost.saga_instances.total_steps IS 'Number of its rows in saga_steps';
COMMENT ON COLUMN sagapost.saga_instances.created_at IS 'When it was stored';
COMMENT ON COLUMN sagapost.saga_instances.started_at IS 'When its first step began, or was skipped';
COMMENT ON COLUMN sagapost.saga_instances.completed_at IS 'When it came to its end, or to Failed; null: it goes on';
COMMENT ON COLUMN sagapost.saga_instances.timed_out_at IS 'When its deadline was found to have passed';
COMMENT ON COLUMN sagapost.saga_instances.initial_data IS 'Its input';
COMMENT ON COLUMN sagapost.saga_instances.current_data IS
  'What its steps had returned, by their names, when it last began to wait, or ended; up to 64 KiB, what does not fit is left out';
COMMENT ON COLUMN sagapost.saga_instances.result_data IS 'What its last step returned; of parallel ones, by their names';
COMMENT ON COLUMN sagapost.saga_instances.timeout_ms IS 'How long it may take, from created_at; null: as long as it takes';
COMMENT ON COLUMN sagapost.saga_instances.metadata IS 'For operators, as its starter told it';
COMMENT ON COLUMN sagapost.saga_instances.trace_id IS 'W3C trace id, also of its events and of the attempts of its steps';
COMMENT ON COLUMN sagapost.saga_instances.span_id IS 'W3C span id of whoever started it';
COMMENT ON COLUMN sagapost.saga_instances.definition_version IS 'Version of its definition';
COMMENT ON COLUMN sagapost.saga_instances.idempotency_key IS 'Starting again with it finds this saga; once in a definition';
COMMENT ON COLUMN sagapost.saga_instances.deadline_at IS 'created_at and timeout_ms: then it is undone';
COMMENT ON COLUMN sagapost.saga_instances.lease_owner IS 'The coordinator that holds it; null: no coordinator does';
COMMENT ON COLUMN sagapost.saga_instances.lease_until IS 'Then another may take it over';
COMMENT ON COLUMN sagapost.saga_instances.cancel_requested_at IS 'When its cancel was asked for';
COMMENT ON COLUMN sagapost.saga_instances.cancel_requested_by IS 'Who asked for its cancel';
COMMENT ON COLUMN sagapost.saga_instances.cancel_reason IS 'Why its cancel was asked for';

COMMENT ON COLUMN sagapost.saga_steps.id IS 'The saga''s id, a colon and step_index';
COMMENT ON COLUMN sagapost.saga_steps.saga_id IS 'The saga that it is a step of';
COMMENT ON COLUMN sagapost.saga_steps.name IS 'As its definition has it';
COMMENT ON COLUMN sagapost.saga_steps.attempts IS 'How often its run has begun';
COMMENT ON COLUMN sagapost.saga_steps.max_attempts IS 'How often it may: more than by its policy after an interruption, and past the pivot';
COMMENT ON COLUMN sagapost.saga_steps.created_at IS 'When the saga was stored';
COMMENT ON COLUMN sagapost.saga_steps.started_at IS 'When its first run began';
COMMENT ON COLUMN sagapost.saga_steps.completed_at IS 'When its run ended well';
COMMENT ON COLUMN sagapost.saga_steps.last_attempt_at IS 'When its last run began';
COMMENT ON COLUMN sagapost.saga_steps.input_data IS
  'What was new to it when it first began: {outputs}, of the steps right before it by their names, or {input}, the saga''s, before there are any; up to 64 KiB, what does not fit is left out';
COMMENT ON COLUMN sagapost.saga_steps.output_data IS 'What it returned';
COMMENT ON COLUMN sagapost.saga_steps.error IS 'Of its last run, if that failed: see is_saga_error';
COMMENT ON COLUMN sagapost.saga_steps.metadata IS 'For operators, as its definition has it';

COMMENT ON COLUMN sagapost.saga_events.id IS 'Grows with the table; sequence is the order within a saga';
COMMENT ON COLUMN sagapost.saga_events.saga_id IS 'The saga that it happened to';
COMMENT ON COLUMN sagapost.saga_events.event_type IS 'One of seventeen: see saga_events_event_type_known';
COMMENT ON COLUMN sagapost.saga_events.step_index IS 'The step concerned, if any';
COMMENT ON COLUMN sagapost.saga_events."timestamp" IS 'When it was written, with the change that it tells of';
COMMENT ON COLUMN sagapost.saga_events.event_data IS
  '{attempt?, waits_for?, cause?, action?, by?, why?}: which attempt, what it waits for, why it is undone or skipped, an operator''s word';
COMMENT ON COLUMN sagapost.saga_events.error IS
  'What a run, an undo or the saga has failed with: see is_saga_error. At the saga''s end without its stacks, which stand with the step''s failure';
COMMENT ON COLUMN sagapost.saga_events.trace_id IS 'The saga''s';
COMMENT ON COLUMN sagapost.saga_events.span_id IS 'W3C span id of the attempt, or else of the saga';
COMMENT ON COLUMN sagapost.saga_events.metadata IS
  '{coordinator}: who took the saga, in the first entry since it did; its lease_owner';
