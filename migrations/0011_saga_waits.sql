-- Sagas that wait: for a time, a signal, another saga, the deliveries of an event. A waiting saga is a row with a
-- wake-up time and holds nothing else. What it waits for is a topic in its step's row; news of a topic is a note in
-- saga_wakeups. docs/concepts/sagas.md has the meaning, docs/internals/decisions.md the reasons.

-- News for the coordinator that looks next. Senders only insert: they wait for no lock, hold no saga's row however long
-- their transaction lasts, and need no right on sagas.
CREATE TABLE sagapost.saga_wakeups (
  id    bigserial NOT NULL,
  topic text      NOT NULL,
  CONSTRAINT saga_wakeups_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE sagapost.saga_wakeups IS 'News of topics that sagas may wait for, until a coordinator has passed it on';

-- Makes the sagas due that wait for the topics of the oldest notes; returns how many notes. A held saga is marked
-- `woken`, and due when it is released. None is missed: a step's topic is committed before its holder looks for the
-- signal. A saga whose row stays locked for longer than a write is passed over and its note written again: an open
-- transaction delays no other saga, and two calls that wait for each other's rows give up before the deadlock.
CREATE FUNCTION sagapost.wake_sagas(batch integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '100ms'
AS $$
DECLARE
  topics text[];
  waiting text[];
  heard text[];
  passed integer;
  kept integer := 0;
BEGIN
  WITH taken AS (
    DELETE FROM sagapost.saga_wakeups WHERE id = ANY (ARRAY(
      SELECT id FROM sagapost.saga_wakeups ORDER BY id LIMIT batch FOR UPDATE SKIP LOCKED))
    RETURNING topic
  )
  SELECT array_agg(DISTINCT topic), count(*) INTO topics, passed FROM taken;
  IF passed = 0 THEN
    RETURN 0;
  END IF;

  SELECT array_agg(found.id), array_agg(found.topic) INTO waiting, heard
  FROM (
    SELECT step.saga_id AS id, news.topic
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_steps AS step ON step.waits_for = news.topic AND step.state IN (1, 4)
    UNION ALL
    SELECT child.id, news.topic
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_instances AS child ON child.parent_id = substr(news.topic, 6)
    WHERE starts_with(news.topic, 'saga:')
  ) AS found;
  IF waiting IS NULL THEN
    RETURN passed;
  END IF;

  UPDATE sagapost.saga_instances AS saga SET
    woken = true,
    wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
  WHERE saga.id = ANY (ARRAY(
    SELECT free.id FROM sagapost.saga_instances AS free
    WHERE free.id = ANY (waiting) AND free.state IN (0, 1, 2, 4) AND NOT free.woken
    FOR UPDATE SKIP LOCKED));

  -- The others were locked: most of them by a write, for a moment.
  BEGIN
    UPDATE sagapost.saga_instances AS saga SET
      woken = true,
      wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
    WHERE saga.id = ANY (waiting) AND saga.state IN (0, 1, 2, 4) AND NOT saga.woken;
  EXCEPTION WHEN lock_not_available THEN
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT DISTINCT news.topic FROM unnest(waiting, heard) AS news (id, topic)
    JOIN sagapost.saga_instances AS saga ON saga.id = news.id
    WHERE saga.state IN (0, 1, 2, 4) AND NOT saga.woken;
    GET DIAGNOSTICS kept = ROW_COUNT;
  END;
  RETURN passed - kept;
END
$$;
COMMENT ON FUNCTION sagapost.wake_sagas(integer) IS
  'Passes news on to the sagas that wait for it; returns how many notes it passed on';

-- Signals -------------------------------------------------------------------------------------------------------------

-- A signal is a fact: the first one of a name and key counts, and every saga that waits for it reads it, now or later.
-- It is kept for a time, so that it may come before its saga. json, because jsonb would unfold numbers like 1e100000.
CREATE TABLE sagapost.saga_signals (
  name        varchar(100) NOT NULL,
  key         varchar(255) NOT NULL,
  payload     json,
  received_at timestamptz  NOT NULL,
  expires_at  timestamptz  NOT NULL,
  CONSTRAINT saga_signals_pkey PRIMARY KEY (name, key),
  CONSTRAINT saga_signals_name_format CHECK (name ~ '^[A-Za-z][A-Za-z0-9._-]*$'),
  CONSTRAINT saga_signals_key_length CHECK (key <> ''),
  -- 64 KiB as sent; sealed, a payload is a third longer.
  CONSTRAINT saga_signals_payload_size CHECK (octet_length(payload::text) <= 98304)
);
COMMENT ON TABLE sagapost.saga_signals IS 'What sagas wait for: the first signal of a name and key, kept for 30 days';

-- For the removal of expired signals.
CREATE INDEX idx_saga_signals_expires ON sagapost.saga_signals (expires_at);

-- Keeps a signal in the caller's transaction. If the name and key were used before, the first signal counts, unless it
-- has expired. A sender may not see what another one sent, only whether it is the `same`: null if one of the two is
-- encrypted. Compared as jsonb, where the order of names is nothing, and as text where jsonb would unfold or refuse a
-- value.
CREATE FUNCTION sagapost.signal(signal_name text, signal_key text, signal_payload json DEFAULT NULL)
RETURNS TABLE (created boolean, received_at timestamptz, expires_at timestamptz, same boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  at_once constant timestamptz := sagapost.clock();
  unfolds constant text := '[0-9][eE][+-]?[0-9]{4}';
  given constant text := signal_payload::text;
  first record;
  alike boolean;
BEGIN
  RETURN QUERY
  INSERT INTO sagapost.saga_signals AS kept (name, key, payload, received_at, expires_at)
  VALUES (signal_name, signal_key, signal_payload, at_once, at_once + interval '30 days')
  ON CONFLICT (name, key) DO UPDATE SET
    payload = excluded.payload, received_at = excluded.received_at, expires_at = excluded.expires_at
    WHERE kept.expires_at <= at_once
  RETURNING true, kept.received_at, kept.expires_at, true;
  IF FOUND THEN
    INSERT INTO sagapost.saga_wakeups (topic) VALUES (format('signal:%s:%s', signal_name, signal_key));
    RETURN;
  END IF;

  SELECT kept.received_at, kept.expires_at, kept.payload::text AS payload INTO first
  FROM sagapost.saga_signals AS kept WHERE kept.name = signal_name AND kept.key = signal_key;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  alike := first.payload IS NOT DISTINCT FROM given;
  IF NOT alike AND first.payload IS NOT NULL AND given IS NOT NULL THEN
    IF starts_with(first.payload, '{"$sagapost_sealed"') OR starts_with(given, '{"$sagapost_sealed"') THEN
      alike := NULL;
    ELSIF first.payload !~ unfolds AND given !~ unfolds THEN
      BEGIN
        alike := first.payload::jsonb = given::jsonb;
      EXCEPTION WHEN OTHERS THEN
        alike := false;
      END;
    END IF;
  END IF;
  RETURN QUERY SELECT false, first.received_at, first.expires_at, alike;
END
$$;
COMMENT ON FUNCTION sagapost.signal(text, text, json) IS
  'Keeps a signal for the sagas that wait for it, now or later, in the caller''s transaction; an earlier one stays and is compared';

-- Deliveries of an event ----------------------------------------------------------------------------------------------

-- Events whose deliveries a step waits for: one per step, however often the step begins. The row is the proof, and
-- stays with its saga. Deliveries know nothing of it and pay nothing for it: coordinators look at the rows that are
-- due, less and less often while nothing happens, and leave a note in saga_wakeups when there is news.
CREATE TABLE sagapost.saga_awaited_events (
  saga_id    varchar(255) NOT NULL,
  step_index integer      NOT NULL,
  event_id   bigint       NOT NULL,
  stored_at  timestamptz  NOT NULL,
  told       text         NOT NULL DEFAULT 'open 0',
  look_at    timestamptz,
  CONSTRAINT saga_awaited_events_pkey PRIMARY KEY (saga_id, step_index),
  CONSTRAINT fk_saga_awaited_events_saga
    FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE
);
COMMENT ON TABLE sagapost.saga_awaited_events IS
  'Events whose deliveries a step of a saga waits or waited for: one per such step';
COMMENT ON COLUMN sagapost.saga_awaited_events.told IS
  'The state and the numbers of the deliveries when the saga was last told';
COMMENT ON COLUMN sagapost.saga_awaited_events.look_at IS 'When a coordinator looks next; null: no step waits';

-- The rows that are due.
CREATE INDEX idx_saga_awaited_look ON sagapost.saga_awaited_events (look_at) WHERE look_at IS NOT NULL;
-- For look_at_requeued.
CREATE INDEX idx_saga_awaited_event ON sagapost.saga_awaited_events (event_id) WHERE look_at IS NOT NULL;

-- Stores the events of steps that begin to wait: [{saga_id, step_index, type, payload, span_id}]. An event that was
-- stored before is not stored again, but waited for again.
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
COMMENT ON FUNCTION sagapost.publish_awaited_events(jsonb) IS
  'Stores the events that steps of sagas wait for, each once; returns how many';

-- The state of an event's deliveries, by the two indexes of an event in its partition. A dead-lettered delivery that
-- was requeued counts no more: its successor does. Any other one makes the event `dead` at once, whatever happens to
-- the rest. While the event waits to be routed, is set aside, or lacks some of its deliveries, it is `open`.
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
  FROM (
    SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = wanted AND requeued_from IS NULL
    UNION ALL
    SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = wanted AND requeued_from > 0
  ) AS delivery;
  IF busy > 0 THEN
    due_at := NULL;
  END IF;
  standing := CASE
    WHEN dead > 0 THEN 'dead'
    WHEN busy + waiting > 0 THEN 'open'
    WHEN EXISTS (
      SELECT FROM sagapost.events AS event
      JOIN sagapost.event_routing_queue AS queued ON queued.enqueued_at = event.created_at
        AND wanted = ANY (queued.event_ids[coalesce(queued.routed_events, 0) + 1:])
      WHERE event.id = wanted
    ) OR EXISTS (SELECT FROM sagapost.set_aside_events WHERE event_id = wanted) THEN 'open'
    WHEN total > 0 THEN 'completed'
    -- The event's partition was dropped, with its deliveries: nothing is known of them.
    WHEN NOT EXISTS (SELECT FROM sagapost.events WHERE id = wanted) THEN 'gone'
    ELSE 'completed' END;
END
$$;
COMMENT ON FUNCTION sagapost.event_deliveries(bigint) IS 'The state of an event''s deliveries';

-- The state of what these steps wait for.
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
COMMENT ON FUNCTION sagapost.awaited_deliveries(text[], integer[]) IS
  'The state of the deliveries that these steps of sagas wait for';

-- Looks at the awaited events that are due, and leaves notes. Next look: when a retry is due, or after a quarter of the
-- time in which nothing has happened (100 ms to a minute); an hour later if one is dead-lettered. Two statements: the
-- second sees what was committed before the rows were locked, a step that has begun to wait again among it.
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
    -- News is an end, or an end that a requeue undid; not that an event was routed.
    WHERE wanted AND news <> told AND NOT (standing = 'open' AND starts_with(told, 'open'))
  )
  UPDATE sagapost.saga_awaited_events AS awaited SET
    told = seen.news,
    look_at = CASE
      WHEN NOT seen.wanted OR seen.standing IN ('completed', 'gone') THEN NULL
      -- Only a requeue changes it, and makes the next look due: see look_at_requeued().
      WHEN seen.standing = 'dead' THEN sagapost.now() + interval '1 hour'
      ELSE greatest(seen.due_at, sagapost.now() + greatest(least(seen.quiet / 4, '1 minute'), '100 ms')) END
  FROM seen WHERE awaited.saga_id = seen.saga_id AND awaited.step_index = seen.step_index;
  RETURN cardinality(sagas);
END
$$;
COMMENT ON FUNCTION sagapost.note_deliveries(integer) IS
  'Leaves a note for sagas whose awaited deliveries have ended; returns how many rows it looked at';

-- A requeue is all that helps a saga that waits for a dead letter, so it makes the next look due; a note would not do,
-- because the new deliveries have to be looked at as well. Locks the rows even if they are due: a look in progress may
-- not see the requeue, and sets the time of the next one afterwards. In one order, so that two requeues cannot
-- deadlock.
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
COMMENT ON FUNCTION sagapost.look_at_requeued(bigint[]) IS
  'Makes the next look at these events due, where a saga waits for their deliveries';

-- The look ahead ------------------------------------------------------------------------------------------------------

-- Whether there is news, and when the next saga of these definitions is due: the first entries of saga_wakeups_pkey,
-- idx_saga_awaited_look, and idx_saga_runnable for each definition. A fraction of what it costs to find nothing with
-- the statements that would move something. Planned once: a statement with arrays is planned anew each time.
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
COMMENT ON FUNCTION sagapost.look_ahead(text[], integer[]) IS
  'Whether there is news for waiting sagas, and in how many milliseconds the next saga of these definitions is due';
