-- What a review of sagas that wait found.

-- Steps --------------------------------------------------------------------------------------------------------
--
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

COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'Failed: an undo failed for good. Running: a step waits for what does not come by itself, a dead-lettered delivery, say; its error says why';

-- Events that are waited for -----------------------------------------------------------------------------------

-- As in 0024, but one that is dead-lettered is told at once, whatever becomes of the others.
CREATE OR REPLACE FUNCTION sagapost.event_deliveries(
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

-- As in 0024, in two statements. One that locks the newest version of a row judges all else by what it saw before: a step
-- that has begun to wait again meanwhile would be taken for one that does not, and never be looked at again. The second
-- statement sees what is committed by the time the rows are its own. One that is dead-lettered is looked at once an hour.
CREATE OR REPLACE FUNCTION sagapost.note_deliveries(batch integer) RETURNS integer
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

-- [D4, S19] As in 0023, and tells the sagas that wait for the events.
CREATE OR REPLACE FUNCTION sagapost.requeue_batch(requeue varchar, attempt integer, OUT total jsonb, OUT requeued_now integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '2s'
AS $$
DECLARE
  step record;
  todo record;
  active bigint[];
  counted record;
BEGIN
  requeued_now := 0;
  SELECT state, attempts, progress INTO step FROM sagapost.saga_steps WHERE id = requeue || ':0' FOR UPDATE;
  IF NOT (step.state = 1 AND step.attempts = attempt) IS TRUE THEN
    RETURN;
  END IF;
  total := step.progress;

  DELETE FROM sagapost.requeue_batches AS batch
  WHERE batch.saga_id = requeue AND batch.batch = (
    SELECT earliest.batch FROM sagapost.requeue_batches AS earliest
    WHERE earliest.saga_id = requeue ORDER BY earliest.batch LIMIT 1)
  RETURNING batch.letters, batch.events INTO todo;
  IF NOT FOUND THEN
    RETURN;
  END IF;

  -- FOR SHARE: a subscription that is being switched off is waited for, not raced.
  SELECT array_agg(locked.id) INTO active FROM (
    SELECT subscription.id FROM sagapost.subscriptions AS subscription
    WHERE subscription.active AND subscription.verified AND subscription.id IN (
      SELECT letter.subscription_id FROM unnest(todo.letters, todo.events) AS given (id, event_id)
      JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id)
    ORDER BY subscription.id FOR SHARE OF subscription
  ) AS locked;

  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from, correlation_id)
  SELECT letter.event_id, letter.subscription_id, letter.id, letter.correlation_id
  FROM unnest(todo.letters, todo.events) AS given (id, event_id)
  JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id
  WHERE letter.subscription_id = ANY (active) AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.requeued_from = letter.id AND saga.event_id = letter.event_id)
  ORDER BY letter.id
  ON CONFLICT (requeued_from, event_id) WHERE requeued_from IS NOT NULL DO NOTHING;
  GET DIAGNOSTICS requeued_now = ROW_COUNT;
  PERFORM sagapost.look_at_requeued(todo.events);

  -- In a statement of its own, which sees what others have requeued meanwhile.
  SELECT count(*) AS letters,
         count(*) FILTER (WHERE outcome.taken) AS taken,
         count(*) FILTER (WHERE outcome.refusal = 'subscription_inactive') AS inactive,
         count(*) FILTER (WHERE outcome.refusal = 'subscription_deleted') AS deleted,
         count(*) FILTER (WHERE outcome.refusal = 'dead_letter_not_found') AS gone
  INTO counted
  FROM unnest(todo.letters, todo.events) AS given (id, event_id)
  CROSS JOIN LATERAL (
    SELECT EXISTS (
      SELECT FROM sagapost.webhook_delivery_sagas AS saga
      WHERE saga.requeued_from = given.id AND saga.event_id = given.event_id) AS taken
  ) AS known
  CROSS JOIN LATERAL (
    SELECT known.taken, CASE
      WHEN known.taken THEN NULL
      ELSE coalesce((
        SELECT CASE WHEN subscription.deleted_at IS NULL THEN 'subscription_inactive' ELSE 'subscription_deleted' END
        FROM sagapost.dead_letters AS letter
        JOIN sagapost.subscriptions AS subscription ON subscription.id = letter.subscription_id
        WHERE letter.id = given.id AND letter.event_id = given.event_id), 'dead_letter_not_found') END AS refusal
  ) AS outcome;

  total := total || jsonb_build_object(
    'requeued', (total ->> 'requeued')::bigint + requeued_now,
    'alreadyRequeued', (total ->> 'alreadyRequeued')::bigint + counted.taken - requeued_now,
    'refused', (total ->> 'refused')::bigint + counted.letters - counted.taken,
    'remaining', (total ->> 'remaining')::bigint - counted.letters,
    'refusals', jsonb_strip_nulls(jsonb_build_object(
      'subscription_inactive', nullif(coalesce((total #>> '{refusals,subscription_inactive}')::bigint, 0) + counted.inactive, 0),
      'subscription_deleted', nullif(coalesce((total #>> '{refusals,subscription_deleted}')::bigint, 0) + counted.deleted, 0),
      'dead_letter_not_found', nullif(coalesce((total #>> '{refusals,dead_letter_not_found}')::bigint, 0) + counted.gone, 0))));
  UPDATE sagapost.saga_steps SET progress = total WHERE id = requeue || ':0';
END
$$;

REVOKE EXECUTE ON FUNCTION sagapost.look_at_requeued(bigint[]) FROM PUBLIC;
COMMENT ON FUNCTION sagapost.look_at_requeued(bigint[]) IS
  'Makes the next look at these events due, where a saga waits for their deliveries';

-- Sagapost's own sagas ---------------------------------------------------------------------------------------------

-- Of what a caller gives, what a saga of Sagapost's own may have. Whatever else start_sagas takes, now or later (a lease, a
-- parent, that its history is published), is not the caller's to say.
CREATE FUNCTION sagapost.own_saga(given jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT jsonb_build_object(
    'id', given -> 'id', 'definition_id', given -> 'definition_id',
    'definition_version', given -> 'definition_version', 'idempotency_key', given -> 'idempotency_key',
    'input', given -> 'input', 'timeout_ms', given -> 'timeout_ms', 'retry_policy', given -> 'retry_policy',
    'metadata', given -> 'metadata', 'trace_id', given -> 'trace_id', 'span_id', given -> 'span_id',
    'step_names', given -> 'step_names', 'step_attempts', given -> 'step_attempts')
$$;
REVOKE EXECUTE ON FUNCTION sagapost.own_saga(jsonb) FROM PUBLIC;
COMMENT ON FUNCTION sagapost.own_saga(jsonb) IS 'What a saga of Sagapost''s own may have of what its starter gives';

-- As in 0023, with what it may have and nothing else.
CREATE OR REPLACE FUNCTION sagapost.start_secret_rotation(given jsonb)
RETURNS TABLE (saga_id varchar, created boolean, moment timestamptz, input text, answer jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  definition constant text := 'sagapost.rotate-secret';
  subscription constant bigint := (given ->> 'input')::jsonb ->> 'subscriptionId';
  made record;
BEGIN
  IF given ->> 'definition_id' IS DISTINCT FROM definition THEN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
      MESSAGE = format('only sagas of %s are started here', definition);
  END IF;
  SELECT * INTO made FROM sagapost.start_sagas(jsonb_build_array(
    sagapost.own_saga(given) - 'idempotency_key'));
  RETURN QUERY
    UPDATE sagapost.saga_instances AS saga SET wake_at = coalesce((
      SELECT max(secret.expires_at) FROM sagapost.subscription_secrets AS secret
      WHERE secret.subscription_id = subscription AND secret.ciphertext IS NOT NULL), saga.wake_at)
    WHERE saga.id = made.saga_id
    RETURNING saga.id, true, made.moment, given ->> 'input', to_jsonb(saga.wake_at);
END
$$;

-- Requeue by filter ----------------------------------------------------------------------------------------------
--
-- As in 0023, without what was requeued before: that is none of its work, and would fill the batches of every later
-- request. By uniq_saga_requeued_from, one probe for each letter that is looked at, whatever the planner expects to find.
CREATE OR REPLACE FUNCTION sagapost.start_dead_letter_requeue(given jsonb, batch_size integer, most integer)
RETURNS TABLE (saga_id varchar, created boolean, moment timestamptz, input text, answer jsonb)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  definition constant text := 'sagapost.requeue-dead-letters';
  filter constant jsonb := (given ->> 'input')::jsonb;
  of_subscription constant bigint := filter ->> 'subscriptionId';
  of_type constant text := filter ->> 'eventType';
  with_code constant text := filter ->> 'errorCode';
  since constant timestamptz := filter ->> 'from';
  before constant timestamptz := filter ->> 'to';
  made record;
  matched bigint;
BEGIN
  IF given ->> 'definition_id' IS DISTINCT FROM definition THEN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
      MESSAGE = format('only sagas of %s are started here', definition);
  END IF;
  -- Held by nobody: a coordinator claims it.
  SELECT * INTO made FROM sagapost.start_sagas(jsonb_build_array(sagapost.own_saga(given)));
  IF made IS NULL THEN
    RETURN QUERY
      SELECT saga.id, false, saga.created_at, saga.initial_data::text, step.progress
      FROM sagapost.saga_instances AS saga
      JOIN sagapost.saga_steps AS step ON step.id = saga.id || ':0'
      WHERE saga.definition_id = definition AND saga.idempotency_key = given ->> 'idempotency_key';
    RETURN;
  END IF;

  WITH cut AS (
    INSERT INTO sagapost.requeue_batches (saga_id, batch, letters, events)
    SELECT made.saga_id, (place - 1) / batch_size, array_agg(id ORDER BY id), array_agg(event_id ORDER BY id)
    FROM (
      SELECT id, event_id, row_number() OVER (ORDER BY id) AS place
      FROM (
        SELECT letter.id, letter.event_id FROM sagapost.dead_letters AS letter
        WHERE (of_subscription IS NULL OR letter.subscription_id = of_subscription)
          AND (of_type IS NULL OR letter.event_type = of_type)
          AND (with_code IS NULL OR letter.final_error_code = with_code)
          AND (since IS NULL OR letter.failed_at >= since)
          AND (before IS NULL OR letter.failed_at < before)
          AND NOT EXISTS (
            SELECT FROM sagapost.webhook_delivery_sagas AS heir
            WHERE heir.requeued_from = letter.id AND heir.event_id = letter.event_id)
        LIMIT most + 1
      ) AS matching
    ) AS placed
    GROUP BY 2
    RETURNING cardinality(letters) AS size
  )
  SELECT coalesce(sum(size), 0) INTO matched FROM cut;
  IF matched > most THEN
    RAISE EXCEPTION USING ERRCODE = 'SP010',
      MESSAGE = format('more than %s dead letters match: narrow the filter', most),
      CONSTRAINT = 'requeue_letters_max', SCHEMA = 'sagapost', TABLE = 'requeue_batches';
  END IF;

  RETURN QUERY
    UPDATE sagapost.saga_steps AS step
    SET progress = jsonb_build_object('matching', matched, 'requeued', 0, 'alreadyRequeued', 0, 'refused', 0,
                                      'refusals', '{}'::jsonb, 'remaining', matched)
    WHERE step.id = made.saga_id || ':0'
    RETURNING step.saga_id, true, made.moment, given ->> 'input', step.progress;
END
$$;

-- Signals --------------------------------------------------------------------------------------------------------
--
-- As in 0022, but whoever may only send is not shown what another has sent: the answer is whether it is the same. Null
-- where one of the two is encrypted, and only its key can tell. As jsonb, since the order of names is nothing; but not
-- numbers that jsonb would unfold, and not what it refuses: those are the same when their text is.
DROP FUNCTION sagapost.signal(text, text, json);
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
REVOKE EXECUTE ON FUNCTION sagapost.signal(text, text, json) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.signal(text, text, json) TO saga_app_role, event_ingest_writer, event_publisher;
COMMENT ON FUNCTION sagapost.signal(text, text, json) IS
  'Keeps a signal for the sagas that wait for it, now or later, in the caller''s transaction; one that has come before is kept as it is, and compared';
