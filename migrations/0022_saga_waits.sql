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

-- Topics are many, also where nearly all that wait at this moment wait for the same: the planner, who sees only that, would
-- then read all of them for any news.
ALTER TABLE sagapost.saga_steps ALTER COLUMN waits_for SET (n_distinct = -1);

-- As in 0017, and one move more: an operator gives up what a step waits for, and the saga goes on without it.
DROP TRIGGER saga_step_moves_legally ON sagapost.saga_steps;
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
ALTER TABLE sagapost.saga_steps ENABLE ALWAYS TRIGGER saga_step_moves_legally;

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

-- Keeps a signal, in the caller's transaction. Of a name and key that was used before the first one counts; one whose time
-- is over counts no more, though it may still be there. Whoever may only send is not shown what another has sent: the
-- answer is whether it is the same. Null where one of the two is encrypted, and only its key can tell. As jsonb, since the
-- order of names is nothing; but not numbers that jsonb would unfold, and not what it refuses: those are the same when
-- their text is.
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

-- Makes those due that wait for what the oldest notes are about; returns how many notes that were. A saga that somebody
-- holds is marked: its holder has looked already, or will find it due again. Nobody is missed: a step's topic is
-- committed before its holder looks for the signal, so that of the two one sees the other.
--
-- One whose row is locked for longer than a write takes is passed over, and what there is to tell it is noted again, for
-- the next look: a transaction that stays open holds up nobody else, and two that wait for each other's rows give up
-- before that is a deadlock. One that was woken and not claimed since needs no telling.
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

  -- Those that are left were locked: most of them by a write, for a moment.
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

-- How a coordinator writes all this stands in 0024, with what sagas publish.

-- Rights ---------------------------------------------------------------------------------------------------

REVOKE ALL ON sagapost.saga_signals, sagapost.saga_wakeups FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sagapost.signal(text, text, json), sagapost.wake_sagas(integer) FROM PUBLIC;
GRANT SELECT, DELETE ON sagapost.saga_signals TO saga_app_role;
-- UPDATE is for FOR UPDATE, here and below: what somebody holds is passed over.
GRANT UPDATE (expires_at) ON sagapost.saga_signals TO saga_app_role;
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
  'Keeps a signal for the sagas that wait for it, now or later, in the caller''s transaction; one that has come before is kept as it is, and compared';
COMMENT ON FUNCTION sagapost.wake_sagas(integer) IS
  'Passes news on to the sagas that wait for it; returns how much of it';
