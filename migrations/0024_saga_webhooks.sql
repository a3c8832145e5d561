-- Where sagas and webhooks meet: a saga that publishes stores its history as events, and a step can wait until the
-- deliveries of an event have ended. docs/concepts/sagas.md says how it is meant; docs/reference/saga-webhooks.md is the
-- receiver's page. Deliveries pay nothing for it: nothing is added to their tables, and no statement of theirs changes.

ALTER TABLE sagapost.saga_instances
  -- Its history is published. In the row, so that whoever writes to it publishes: also an operator's word, or a
  -- coordinator of another release.
  ADD COLUMN publishes boolean NOT NULL DEFAULT false,
  DROP CONSTRAINT saga_instances_awaiting_operator_is_failed,
  -- Failed, or Running with a step whose delivery is dead-lettered.
  ADD CONSTRAINT saga_instances_awaiting_operator_state CHECK (state IN (1, 6) OR NOT awaiting_operator);

CREATE TRIGGER saga_instance_publishes_is_frozen
  BEFORE UPDATE OF publishes ON sagapost.saga_instances
  FOR EACH ROW WHEN (OLD.publishes IS DISTINCT FROM NEW.publishes)
  EXECUTE FUNCTION sagapost.refuse('SP004', 'whether a saga publishes never changes');
ALTER TABLE sagapost.saga_instances ENABLE ALWAYS TRIGGER saga_instance_publishes_is_frozen;

-- The history as events -------------------------------------------------------------------------------------

-- Stores an event for each entry that is written to the histories of these sagas by the same statement, in its order.
-- `entries`: [{saga_id, before, events, step_names?}], `events` as write_saga_changes has them; `before` is the number of
-- the entry before the first. Nothing of the saga's data goes with it, no error's message, no operator's name or words.
-- The names of the states are those of src/state-machines/, which a test compares.
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

-- Events whose deliveries a step waits for ---------------------------------------------------------------------
--
-- One event for one step of one saga, however often the step is begun: the row is the proof, and stays with its saga.
-- Deliveries do not know of it. Coordinators look at what is due here, less and less often while nothing happens, and
-- leave a note in saga_wakeups when there is news.

CREATE TABLE sagapost.saga_awaited_events (
  saga_id    varchar(255) NOT NULL,
  step_index integer      NOT NULL,
  event_id   bigint       NOT NULL,
  stored_at  timestamptz  NOT NULL,
  -- What the saga has been told last: how its deliveries stood, and how many there were.
  told       text         NOT NULL DEFAULT 'open 0',
  -- Null: nobody waits for it.
  look_at    timestamptz,
  CONSTRAINT saga_awaited_events_pkey PRIMARY KEY (saga_id, step_index),
  CONSTRAINT fk_saga_awaited_events_saga
    FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE
);

CREATE INDEX idx_saga_awaited_look ON sagapost.saga_awaited_events (look_at) WHERE look_at IS NOT NULL;

-- Stores the events of steps that begin to wait: [{saga_id, step_index, type, payload, span_id}]. One that was stored
-- before is waited for again, and not stored again.
CREATE FUNCTION sagapost.publish_awaited_events(entries jsonb) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  stored integer;
BEGIN
  WITH entry AS MATERIALIZED (
    SELECT given.*, nextval('sagapost.events_id_seq') AS event_id
    FROM jsonb_to_recordset(entries) AS given (saga_id text, step_index int, type text, payload text, span_id text)
  ), awaited AS (
    INSERT INTO sagapost.saga_awaited_events AS known (saga_id, step_index, event_id, stored_at, look_at)
    SELECT saga_id, step_index, event_id, sagapost.now(), sagapost.now() FROM entry
    ON CONFLICT (saga_id, step_index) DO UPDATE SET look_at = excluded.look_at, told = excluded.told
    RETURNING known.event_id
  )
  INSERT INTO sagapost.events (id, event_type, payload, correlation_id, traceparent)
  SELECT entry.event_id, entry.type, entry.payload::json, entry.saga_id,
         '00-' || saga.trace_id || '-' || entry.span_id || '-01'
  FROM entry
  JOIN awaited ON awaited.event_id = entry.event_id
  JOIN sagapost.saga_instances AS saga ON saga.id = entry.saga_id;
  GET DIAGNOSTICS stored = ROW_COUNT;
  RETURN stored;
END
$$;

-- How the deliveries of an event stand; by idx_saga_event in the event's partition. A dead one that was requeued counts
-- no more: the one that took its place does. One that is dead-lettered is told at once, whatever becomes of the others.
-- Until it is routed nobody knows how many there will be.
CREATE FUNCTION sagapost.event_deliveries(
  wanted bigint, OUT standing text, OUT completed bigint, OUT dead bigint, OUT total bigint,
  OUT changed_at timestamptz, OUT due_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  busy bigint;
  waiting bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE delivery.status = 'Completed'),
         count(*) FILTER (WHERE delivery.status = 'DeadLettered' AND NOT EXISTS (
           SELECT FROM sagapost.dead_letters AS letter
           JOIN sagapost.webhook_delivery_sagas AS heir ON heir.requeued_from = letter.id AND heir.event_id = wanted
           WHERE letter.saga_id = delivery.id AND letter.event_id = wanted)),
         count(*) FILTER (WHERE delivery.status IN ('Pending', 'InProgress')),
         count(*) FILTER (WHERE delivery.status = 'PendingRetry'),
         max(delivery.updated_at), min(delivery.next_attempt_at) FILTER (WHERE delivery.status = 'PendingRetry')
  INTO total, completed, dead, busy, waiting, changed_at, due_at
  FROM sagapost.webhook_delivery_sagas AS delivery WHERE delivery.event_id = wanted;
  IF busy > 0 THEN
    due_at := NULL;
  END IF;
  standing := CASE
    WHEN dead > 0 THEN 'dead'
    WHEN busy + waiting > 0 THEN 'open'
    WHEN total > 0 THEN 'completed'
    WHEN EXISTS (SELECT FROM sagapost.event_routing_queue WHERE event_id = wanted) THEN 'open'
    -- A partition goes with its events and their deliveries; nothing is known of those any more.
    WHEN NOT EXISTS (SELECT FROM sagapost.events WHERE id = wanted) THEN 'gone'
    ELSE 'completed' END;
END
$$;

-- What these steps wait for has come to.
CREATE FUNCTION sagapost.awaited_deliveries(saga_ids text[], step_indexes integer[])
RETURNS TABLE (saga_id varchar, step_index integer, event_id bigint, standing text, completed bigint, dead bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT awaited.saga_id, awaited.step_index, awaited.event_id, delivered.standing, delivered.completed, delivered.dead
  FROM unnest(saga_ids, step_indexes) AS wanted (saga_id, step_index)
  JOIN sagapost.saga_awaited_events AS awaited
    ON awaited.saga_id = wanted.saga_id AND awaited.step_index = wanted.step_index
  CROSS JOIN LATERAL sagapost.event_deliveries(awaited.event_id) AS delivered
$$;

-- Looks at the awaited events that are due, and leaves a note where there is news. The next look is when a retry is due,
-- or after a quarter of the time in which nothing has happened, between 100 ms and a minute; at one that is dead-lettered
-- it is in an hour.
--
-- In two statements: one that locks the newest version of a row judges all else by what it saw before, and a step that
-- has begun to wait again meanwhile would be taken for one that does not, and never be looked at again. The second sees
-- what is committed by the time the rows are its own.
CREATE FUNCTION sagapost.note_deliveries(batch integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
  sagas text[];
  steps integer[];
BEGIN
  SELECT array_agg(due.saga_id), array_agg(due.step_index) INTO sagas, steps
  FROM (
    SELECT saga_id, step_index FROM sagapost.saga_awaited_events
    WHERE look_at <= sagapost.now()
    ORDER BY look_at LIMIT batch
    FOR UPDATE SKIP LOCKED
  ) AS due;
  IF sagas IS NULL THEN
    RETURN 0;
  END IF;

  WITH due AS MATERIALIZED (
    SELECT awaited.saga_id, awaited.step_index, awaited.event_id, awaited.told, awaited.stored_at,
           format('delivery:%s:%s', awaited.saga_id, awaited.step_index) AS topic
    FROM unnest(sagas, steps) AS mine (saga_id, step_index)
    JOIN sagapost.saga_awaited_events AS awaited
      ON awaited.saga_id = mine.saga_id AND awaited.step_index = mine.step_index
  ), seen AS MATERIALIZED (
    SELECT due.*, delivered.standing, delivered.due_at,
           format('%s %s %s', delivered.standing, delivered.total, delivered.dead) AS news,
           sagapost.now()
             - greatest(due.stored_at, delivered.changed_at, least(delivered.due_at, sagapost.now())) AS quiet,
           EXISTS (
             SELECT FROM sagapost.saga_steps AS step WHERE step.waits_for = due.topic AND step.state IN (1, 4)) AS wanted
    FROM due CROSS JOIN LATERAL sagapost.event_deliveries(due.event_id) AS delivered
  ), noted AS (
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT topic FROM seen
    -- That an event was routed is no news: only an end is, or that one is undone by a requeue.
    WHERE wanted AND news <> told AND NOT (standing = 'open' AND starts_with(told, 'open'))
  )
  UPDATE sagapost.saga_awaited_events AS awaited SET
    told = seen.news,
    look_at = CASE
      WHEN NOT seen.wanted OR seen.standing IN ('completed', 'gone') THEN NULL
      -- Only a requeue changes anything, and says so: see look_at_requeued.
      WHEN seen.standing = 'dead' THEN sagapost.now() + interval '1 hour'
      ELSE greatest(seen.due_at, sagapost.now() + greatest(least(seen.quiet / 4, '1 minute'), '100 ms')) END
  FROM seen WHERE awaited.saga_id = seen.saga_id AND awaited.step_index = seen.step_index;
  RETURN cardinality(sagas);
END
$$;

-- Whether there is news to pass on, and when the next saga of these definitions is due: the first entry of
-- saga_wakeups_pkey, of idx_saga_awaited_look, and of idx_saga_runnable for each definition. A fraction of what it costs
-- to find nothing by the statements that would move something; and planned once, where a statement with the arrays in it
-- is planned anew each time, because nobody knows how long they are.
CREATE FUNCTION sagapost.look_ahead(
  definition_ids text[], versions integer[], OUT news boolean, OUT due_in_ms double precision
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
AS $$
BEGIN
  news := EXISTS (SELECT FROM sagapost.saga_wakeups)
    OR EXISTS (SELECT FROM sagapost.saga_awaited_events WHERE look_at <= sagapost.now());
  SELECT ceil(extract(epoch FROM min(next.wake_at) - sagapost.now()) * 1000) INTO due_in_ms
  FROM unnest(definition_ids, versions) AS wanted (definition_id, definition_version)
  CROSS JOIN LATERAL (
    SELECT wake_at FROM sagapost.saga_instances AS saga
    WHERE saga.definition_id = wanted.definition_id AND saga.definition_version = wanted.definition_version
      AND saga.state IN (0, 1, 2, 4) AND saga.wake_at IS NOT NULL
    ORDER BY saga.wake_at
    LIMIT 1
  ) AS next;
END
$$;

-- A requeue is all that can help a saga that waits for a dead letter: it makes the next look due. A note of the topic
-- would not do, since the deliveries that follow have to be looked at as well. The rows are locked, whenever they are due:
-- whoever looks at this moment may not see the requeue, and says afterwards when the next look is. By idx_saga_awaited_event,
-- in one order, so that two requeues wait for each other in one direction only.
CREATE FUNCTION sagapost.look_at_requeued(events bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
  WITH waiting AS MATERIALIZED (
    SELECT saga_id, step_index FROM sagapost.saga_awaited_events
    WHERE event_id = ANY (events) AND look_at IS NOT NULL
    ORDER BY saga_id, step_index
    FOR UPDATE
  )
  UPDATE sagapost.saga_awaited_events AS awaited SET look_at = least(awaited.look_at, sagapost.now())
  FROM waiting WHERE awaited.saga_id = waiting.saga_id AND awaited.step_index = waiting.step_index;
END
$$;

-- Those that are waited for, by their event.
CREATE INDEX idx_saga_awaited_event ON sagapost.saga_awaited_events (event_id) WHERE look_at IS NOT NULL;

-- [D4, S19] As in 0008, and tells the sagas that wait for the event.
CREATE OR REPLACE FUNCTION sagapost.requeue_dead_letter(dead_letter_id bigint, OUT delivery_id bigint, OUT created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  letter record;
BEGIN
  SELECT id, event_id, subscription_id, correlation_id INTO letter
  FROM sagapost.dead_letters WHERE id = dead_letter_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP008',
      MESSAGE = format('there is no dead letter %s', coalesce(dead_letter_id::text, 'null')),
      CONSTRAINT = 'dead_letter_exists', SCHEMA = 'sagapost', TABLE = 'dead_letters';
  END IF;

  SELECT id, false INTO delivery_id, created FROM sagapost.webhook_delivery_sagas
  WHERE requeued_from = letter.id AND event_id = letter.event_id;
  IF FOUND THEN
    RETURN;
  END IF;

  -- FOR SHARE: a subscription that is being switched off is waited for, not raced.
  PERFORM FROM sagapost.subscriptions WHERE id = letter.subscription_id AND active AND verified FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP009',
      MESSAGE = format('subscription %s is not active, so dead letter %s cannot be requeued',
        letter.subscription_id, letter.id),
      CONSTRAINT = 'requeue_needs_active_subscription', SCHEMA = 'sagapost', TABLE = 'subscriptions';
  END IF;

  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from, correlation_id)
  VALUES (letter.event_id, letter.subscription_id, letter.id, letter.correlation_id)
  ON CONFLICT (requeued_from, event_id) WHERE requeued_from IS NOT NULL DO NOTHING
  RETURNING id INTO delivery_id;
  created := FOUND;
  IF created THEN
    PERFORM sagapost.look_at_requeued(ARRAY[letter.event_id]);
  ELSE
    SELECT id INTO STRICT delivery_id FROM sagapost.webhook_delivery_sagas
    WHERE requeued_from = letter.id AND event_id = letter.event_id;
  END IF;
END
$$;

-- How a coordinator writes, as in 0018 and with what is new here and in 0022 --------------------------------------

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
      step_names text[], step_attempts int[], events jsonb, parent_id text, publishes boolean)
  ), made AS (
    INSERT INTO sagapost.saga_instances AS saga
      (id, definition_id, definition_version, idempotency_key, state, current_step, total_steps, created_at, updated_at,
       started_at, initial_data, timeout_ms, deadline_at, retry_policy, metadata, trace_id, span_id,
       lease_owner, lease_until, wake_at, version, event_count, parent_id, publishes)
    SELECT new.id, new.definition_id, new.definition_version, new.idempotency_key,
           CASE WHEN new.events IS NULL THEN 0 ELSE 1 END, 0, cardinality(new.step_names), at_once, at_once,
           CASE WHEN new.events IS NULL THEN NULL ELSE at_once END, new.input::jsonb, new.timeout_ms,
           at_once + new.timeout_ms * interval '1 ms', new.retry_policy, new.metadata, new.trace_id, new.span_id,
           new.lease_owner, at_once + new.lease_ms * interval '1 ms',
           at_once + coalesce(new.lease_ms, 0) * interval '1 ms',
           CASE WHEN new.lease_owner IS NULL THEN 0 ELSE 1 END, coalesce(jsonb_array_length(new.events), 0),
           new.parent_id, coalesce(new.publishes, false)
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
      children jsonb, wakes jsonb,
      publications jsonb)
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

-- Rights ---------------------------------------------------------------------------------------------------

REVOKE ALL ON sagapost.saga_awaited_events FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sagapost.publish_saga_history(jsonb, timestamptz), sagapost.publish_awaited_events(jsonb),
  sagapost.event_deliveries(bigint), sagapost.awaited_deliveries(text[], integer[]), sagapost.note_deliveries(integer),
  sagapost.look_ahead(text[], integer[]), sagapost.look_at_requeued(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.publish_saga_history(jsonb, timestamptz), sagapost.publish_awaited_events(jsonb),
  sagapost.awaited_deliveries(text[], integer[]), sagapost.note_deliveries(integer),
  sagapost.look_ahead(text[], integer[]) TO saga_app_role;
-- A coordinator looks whether something is due; whatever changes here is done by the functions.
GRANT SELECT ON sagapost.saga_awaited_events TO saga_app_role, saga_readonly_role;

COMMENT ON TABLE sagapost.saga_awaited_events IS
  'Events whose deliveries a step of a saga waits for, or waited for: one for each such step';
COMMENT ON COLUMN sagapost.saga_awaited_events.told IS 'How the deliveries stood when the saga was last told';
COMMENT ON COLUMN sagapost.saga_awaited_events.look_at IS 'When a coordinator looks next; null: nobody waits';
COMMENT ON COLUMN sagapost.saga_instances.publishes IS 'Its history is published as events, entry by entry';
COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'Failed: an undo failed for good. Running: a step waits for what does not come by itself, a dead-lettered delivery, say; its error says why';
COMMENT ON COLUMN sagapost.saga_steps.waits_for IS
  'The topic that it waits for, or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step>';
COMMENT ON FUNCTION sagapost.publish_saga_history(jsonb, timestamptz) IS
  'Stores the entries that are written to the history of publishing sagas as events; returns how many';
COMMENT ON FUNCTION sagapost.publish_awaited_events(jsonb) IS
  'Stores the events that steps of sagas wait for, each once; returns how many';
COMMENT ON FUNCTION sagapost.event_deliveries(bigint) IS 'How the deliveries of an event stand';
COMMENT ON FUNCTION sagapost.awaited_deliveries(text[], integer[]) IS
  'How the deliveries stand that these steps of sagas wait for';
COMMENT ON FUNCTION sagapost.note_deliveries(integer) IS
  'Leaves a note for sagas whose awaited deliveries have ended; returns how many were looked at';
COMMENT ON FUNCTION sagapost.look_ahead(text[], integer[]) IS
  'Whether there is news for sagas that wait, and in how many milliseconds the next saga of these definitions is due';
COMMENT ON FUNCTION sagapost.look_at_requeued(bigint[]) IS
  'Makes the next look at these events due, where a saga waits for their deliveries';
