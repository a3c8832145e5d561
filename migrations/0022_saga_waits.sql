-- Sagas that wait: for a time, a signal, another saga. Who waits is a row with a wake-up time and holds nothing else; what
-- it waits for is a topic in its step's row, and whoever has news of a topic leaves a note in saga_wakeups.
-- docs/concepts/sagas.md says how it is meant, docs/internals/decisions.md why it is built so.

ALTER TABLE sagapost.saga_instances
  -- The saga that started it as one of its steps, and that it is undone with.
  ADD COLUMN parent_id  varchar(255),
  -- From then on it only goes forward: neither a cancel nor the deadline changes its way.
  ADD COLUMN pivoted_at timestamptz,
  -- There was news since it was last claimed: whoever lets it go leaves it due.
  ADD COLUMN woken      boolean NOT NULL DEFAULT false;

ALTER TABLE sagapost.saga_steps
  -- `signal:<name>:<key>` or `saga:<id>`. It stays when the wait is over: the undo of a child finds it here.
  ADD COLUMN waits_for text,
  -- When a sleep ends, a wait is over without its signal, or a failed run is tried again.
  ADD COLUMN wake_at   timestamptz;

-- Who waits for a topic: only the rows that wait at this moment.
CREATE INDEX idx_step_waits_for ON sagapost.saga_steps (waits_for) WHERE waits_for IS NOT NULL AND state IN (1, 4);

-- The children of a saga; most sagas are nobody's.
CREATE INDEX idx_saga_parent ON sagapost.saga_instances (parent_id) WHERE parent_id IS NOT NULL;

-- Signals ---------------------------------------------------------------------------------------------------
--
-- A signal is a fact: the first one of a name and key counts, whoever waits for it reads it, now or later. It is kept for
-- a time, so that it may come before its saga; as json, because jsonb would unfold numbers like 1e100000.

CREATE TABLE sagapost.saga_signals (
  name        varchar(100) NOT NULL,
  key         varchar(255) NOT NULL,
  payload     json,
  received_at timestamptz  NOT NULL,
  expires_at  timestamptz  NOT NULL,
  CONSTRAINT saga_signals_pkey PRIMARY KEY (name, key),
  CONSTRAINT saga_signals_name_format CHECK (name ~ '^[A-Za-z][A-Za-z0-9._-]*$'),
  CONSTRAINT saga_signals_key_length CHECK (key <> ''),
  -- 64 KiB as they are sent; sealed they take a third more.
  CONSTRAINT saga_signals_payload_size CHECK (octet_length(payload::text) <= 98304)
);

CREATE INDEX idx_saga_signals_expires ON sagapost.saga_signals (expires_at);

-- News of a topic, for whichever coordinator looks next. Senders only add to it: they wait for nobody, hold no saga's row
-- however long their transaction lasts, and need no right on sagas.
CREATE TABLE sagapost.saga_wakeups (
  id    bigserial NOT NULL,
  topic text      NOT NULL,
  CONSTRAINT saga_wakeups_pkey PRIMARY KEY (id)
);

-- Keeps a signal, in the caller's transaction. Of a name and key that was used before it answers the first one; one whose
-- time is over counts no more, though it may still be there.
CREATE FUNCTION sagapost.signal(signal_name text, signal_key text, signal_payload json DEFAULT NULL)
RETURNS TABLE (created boolean, received_at timestamptz, expires_at timestamptz, payload text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  at_once constant timestamptz := sagapost.clock();
BEGIN
  RETURN QUERY
  INSERT INTO sagapost.saga_signals AS kept (name, key, payload, received_at, expires_at)
  VALUES (signal_name, signal_key, signal_payload, at_once, at_once + interval '30 days')
  ON CONFLICT (name, key) DO UPDATE SET
    payload = excluded.payload, received_at = excluded.received_at, expires_at = excluded.expires_at
    WHERE kept.expires_at <= at_once
  RETURNING true, kept.received_at, kept.expires_at, kept.payload::text;
  IF FOUND THEN
    INSERT INTO sagapost.saga_wakeups (topic) VALUES (format('signal:%s:%s', signal_name, signal_key));
    RETURN;
  END IF;
  RETURN QUERY
  SELECT false, kept.received_at, kept.expires_at, kept.payload::text
  FROM sagapost.saga_signals AS kept WHERE kept.name = signal_name AND kept.key = signal_key;
END
$$;

-- Makes those due that wait for what the oldest notes are about; returns how many notes that were. A saga that somebody
-- holds is marked: its holder has looked already, or will find it due again. Nobody is missed: a step's topic is
-- committed before its holder looks for the signal, so that of the two one sees the other.
CREATE FUNCTION sagapost.wake_sagas(batch integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '2s'
AS $$
DECLARE
  topics text[];
BEGIN
  WITH taken AS (
    DELETE FROM sagapost.saga_wakeups WHERE id = ANY (ARRAY(
      SELECT id FROM sagapost.saga_wakeups ORDER BY id LIMIT batch FOR UPDATE SKIP LOCKED))
    RETURNING topic
  )
  SELECT array_agg(topic) INTO topics FROM taken;
  IF topics IS NULL THEN
    RETURN 0;
  END IF;
  WITH waiting AS MATERIALIZED (
    SELECT step.saga_id AS id
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_steps AS step ON step.waits_for = news.topic AND step.state IN (1, 4)
    UNION
    SELECT child.id
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_instances AS child ON child.parent_id = substr(news.topic, 6)
    WHERE starts_with(news.topic, 'saga:')
  ), locked AS MATERIALIZED (
    SELECT saga.id FROM waiting JOIN sagapost.saga_instances AS saga ON saga.id = waiting.id
    WHERE saga.state IN (0, 1, 2, 4)
    ORDER BY saga.id
    FOR UPDATE OF saga
  )
  UPDATE sagapost.saga_instances AS saga SET
    woken = true,
    wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
  FROM locked WHERE saga.id = locked.id;
  RETURN cardinality(topics);
END
$$;

-- How a coordinator writes, as in 0018 and with what is new ------------------------------------------------------

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
      step_names text[], step_attempts int[], events jsonb, parent_id text)
  ), made AS (
    INSERT INTO sagapost.saga_instances AS saga
      (id, definition_id, definition_version, idempotency_key, state, current_step, total_steps, created_at, updated_at,
       started_at, initial_data, timeout_ms, deadline_at, retry_policy, metadata, trace_id, span_id,
       lease_owner, lease_until, wake_at, version, event_count, parent_id)
    SELECT new.id, new.definition_id, new.definition_version, new.idempotency_key,
           CASE WHEN new.events IS NULL THEN 0 ELSE 1 END, 0, cardinality(new.step_names), at_once, at_once,
           CASE WHEN new.events IS NULL THEN NULL ELSE at_once END, new.input::jsonb, new.timeout_ms,
           at_once + new.timeout_ms * interval '1 ms', new.retry_policy, new.metadata, new.trace_id, new.span_id,
           new.lease_owner, at_once + new.lease_ms * interval '1 ms',
           at_once + coalesce(new.lease_ms, 0) * interval '1 ms',
           CASE WHEN new.lease_owner IS NULL THEN 0 ELSE 1 END, coalesce(jsonb_array_length(new.events), 0),
           new.parent_id
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

-- A saga that is let go wakes at its deadline at the latest, and at once when somebody asked to cancel it or left it
-- news meanwhile; past its pivot, or when all its steps are done and it waits for its parent, deadlines are nothing to it.
-- Children are saved, and news is left, under the fence of the saga whose they are.
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
      children jsonb, wakes jsonb)
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
              change.steps, change.events, change.children, change.wakes,
              saga.cancel_requested_at IS NOT NULL AS cancel_requested,
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
      completed_at = CASE WHEN to_be.finished THEN at_once ELSE step.completed_at END,
      waits_for = to_be.waits_for,
      wake_at = coalesce(to_be.wake_at, at_once + to_be.wake_in_ms * interval '1 ms')
    FROM moved CROSS JOIN LATERAL jsonb_to_recordset(moved.steps) AS to_be (
      index int, state int, attempts int, max_attempts int, error jsonb, compensation jsonb, output text,
      started boolean, finished boolean, waits_for text, wake_in_ms bigint, wake_at timestamptz)
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
  ), woke AS (
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT topic FROM moved CROSS JOIN LATERAL jsonb_array_elements_text(moved.wakes) AS topic
    WHERE moved.wakes IS NOT NULL
  ), born AS (
    SELECT count(*) FROM moved CROSS JOIN LATERAL sagapost.start_sagas(moved.children)
    WHERE moved.children IS NOT NULL
  )
  SELECT moved.id, moved.cancel_requested, moved.overdue, at_once FROM moved CROSS JOIN born;
END
$$;

-- Rights ---------------------------------------------------------------------------------------------------

REVOKE ALL ON sagapost.saga_signals, sagapost.saga_wakeups FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sagapost.signal(text, text, json), sagapost.wake_sagas(integer) FROM PUBLIC;
GRANT SELECT, DELETE ON sagapost.saga_signals TO saga_app_role;
-- UPDATE is for FOR UPDATE.
GRANT SELECT, INSERT, UPDATE, DELETE ON sagapost.saga_wakeups TO saga_app_role;
GRANT USAGE ON SEQUENCE sagapost.saga_wakeups_id_seq TO saga_app_role;
GRANT SELECT ON sagapost.saga_signals, sagapost.saga_wakeups TO saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.wake_sagas(integer) TO saga_app_role;
GRANT EXECUTE ON FUNCTION sagapost.signal(text, text, json) TO saga_app_role, event_ingest_writer, event_publisher;

COMMENT ON TABLE sagapost.saga_signals IS 'What sagas wait for: the first of a name and key, kept for 30 days';
COMMENT ON TABLE sagapost.saga_wakeups IS 'News of topics that sagas may wait for, until a coordinator has passed it on';
COMMENT ON COLUMN sagapost.saga_instances.parent_id IS 'The saga that started it as one of its steps';
COMMENT ON COLUMN sagapost.saga_instances.pivoted_at IS
  'When it passed its pivot: from then on it only goes forward';
COMMENT ON COLUMN sagapost.saga_instances.woken IS 'There was news for it since it was last claimed';
COMMENT ON COLUMN sagapost.saga_steps.waits_for IS
  'The topic that it waits for, or waited for: signal:<name>:<key> or saga:<id>';
COMMENT ON COLUMN sagapost.saga_steps.wake_at IS
  'When a sleep ends, a wait is over without its signal, or a failed run is tried again';
COMMENT ON COLUMN sagapost.saga_instances.wake_at IS
  'When it may be claimed next: at once, when a retry or a wait is due, or at the end of its lease; null: it is finished, or waits for news only';
COMMENT ON FUNCTION sagapost.signal(text, text, json) IS
  'Keeps a signal for the sagas that wait for it, now or later, in the caller''s transaction';
COMMENT ON FUNCTION sagapost.wake_sagas(integer) IS
  'Passes news on to the sagas that wait for it; returns how much of it';
