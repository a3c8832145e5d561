-- Requeue of dead letters [D4, S19], one or many, and the end of a secret's overlap. What takes long runs as a saga of
-- Sagapost's own: the role that may request it starts it by a function and has no other right to sagas; the coordinator
-- (saga_app_role) runs what was planned, and can plan nothing.

-- What a caller may set of a saga of Sagapost's own. Everything else that start_sagas takes, now or later (a lease, a
-- parent, that its history is published), is not the caller's to set.
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
COMMENT ON FUNCTION sagapost.own_saga(jsonb) IS 'What the starter of one of Sagapost''s own sagas may set of it';

-- One dead letter -----------------------------------------------------------------------------------------------------

-- [D4, S19] A new Pending delivery for the event and subscription of the dead letter. A second request returns the
-- delivery of the first (`created` is false), even if the subscription was deactivated since. ON CONFLICT names no
-- index: two requeues of a letter meet in two of them, and a conflict in an index that is not named is an error.
CREATE FUNCTION sagapost.requeue_dead_letter(dead_letter_id bigint, OUT delivery_id bigint, OUT created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  of_event constant bigint := sagapost.find_event_id('dead_letters', dead_letter_id);
  letter record;
BEGIN
  SELECT id, event_id, subscription_id, correlation_id INTO letter
  FROM sagapost.dead_letters WHERE id = dead_letter_id AND event_id = of_event;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP008',
      MESSAGE = format('there is no dead letter %s', coalesce(dead_letter_id::text, 'null')),
      CONSTRAINT = 'dead_letter_exists', SCHEMA = 'sagapost', TABLE = 'dead_letters';
  END IF;

  SELECT id, false INTO delivery_id, created FROM sagapost.webhook_delivery_sagas
  WHERE requeued_from = letter.id AND event_id = of_event;
  IF FOUND THEN
    RETURN;
  END IF;

  -- FOR SHARE waits for a deactivation that is under way, instead of racing it.
  PERFORM FROM sagapost.subscriptions WHERE id = letter.subscription_id AND active AND verified FOR SHARE;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM sagapost.subscriptions WHERE id = letter.subscription_id AND deleted_at IS NOT NULL) THEN
      RAISE EXCEPTION USING ERRCODE = 'SP009',
        MESSAGE = format('subscription %s was deleted, so dead letter %s cannot be requeued',
          letter.subscription_id, letter.id),
        CONSTRAINT = 'requeue_needs_subscription', SCHEMA = 'sagapost', TABLE = 'subscriptions';
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SP009',
      MESSAGE = format('subscription %s is not active, so dead letter %s cannot be requeued',
        letter.subscription_id, letter.id),
      CONSTRAINT = 'requeue_needs_active_subscription', SCHEMA = 'sagapost', TABLE = 'subscriptions';
  END IF;

  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from, correlation_id)
  VALUES (letter.event_id, letter.subscription_id, letter.id, letter.correlation_id)
  ON CONFLICT DO NOTHING
  RETURNING id INTO delivery_id;
  created := FOUND;
  IF created THEN
    PERFORM sagapost.look_at_requeued(ARRAY[letter.event_id]);
  ELSE
    SELECT id INTO delivery_id FROM sagapost.webhook_delivery_sagas
    WHERE requeued_from = letter.id AND event_id = of_event;
    -- Not the conflict of two requeues: the sequence was set back.
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'unique_violation',
        MESSAGE = format('dead letter %s cannot be requeued: the id of its new delivery is taken', letter.id),
        CONSTRAINT = 'webhook_delivery_sagas_pkey', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
    END IF;
  END IF;
END
$$;

-- Requeue by filter ---------------------------------------------------------------------------------------------------

-- What the filter found when it was requested, in batches: a dead letter that comes later is never among them, not even
-- one with a lower id that was being written at that moment, and `matching` is exact. The transaction that requeues a
-- batch deletes it: it happens once or not at all.
CREATE TABLE sagapost.requeue_batches (
  saga_id varchar(255) NOT NULL,
  batch   integer      NOT NULL,
  -- Dead letters, ascending, and their events: the two together find a row in its partition.
  letters bigint[]     NOT NULL,
  events  bigint[]     NOT NULL,
  CONSTRAINT requeue_batches_pkey PRIMARY KEY (saga_id, batch),
  CONSTRAINT fk_requeue_batches_saga FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE
);
COMMENT ON TABLE sagapost.requeue_batches IS
  'What a requeue by filter has still to do: dead letters that matched when it was requested; a batch is deleted when it is done';

-- Stores the saga and its batches, or returns the saga of an earlier request with the key. Letters that were requeued
-- before are left out: they would fill the batches of every later request. Group by group, the oldest first, planned
-- for its values: each filter has its index, and each letter one look by uniq_saga_requeued_from.
CREATE FUNCTION sagapost.start_dead_letter_requeue(given jsonb, batch_size integer, most integer)
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
  bounds record;
  matching record;
  matched bigint := 0;
  batches integer := 0;
BEGIN
  IF given ->> 'definition_id' IS DISTINCT FROM definition THEN
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
      MESSAGE = format('only sagas of %s are started here', definition);
  END IF;
  -- Without a lease: a coordinator claims it.
  SELECT * INTO made FROM sagapost.start_sagas(jsonb_build_array(sagapost.own_saga(given)));
  IF made IS NULL THEN
    RETURN QUERY
      SELECT saga.id, false, saga.created_at, saga.initial_data::text, step.progress
      FROM sagapost.saga_instances AS saga
      JOIN sagapost.saga_steps AS step ON step.id = saga.id || ':0'
      WHERE saga.definition_id = definition AND saga.idempotency_key = given ->> 'idempotency_key';
    RETURN;
  END IF;

  FOR bounds IN SELECT from_id, to_id FROM sagapost.partition_groups() ORDER BY from_id NULLS FIRST LOOP
    BEGIN
      EXECUTE format($find$
        SELECT array_agg(id ORDER BY id) AS letters, array_agg(event_id ORDER BY id) AS events
        FROM (
          SELECT letter.id, letter.event_id FROM sagapost.dead_letters AS letter
          WHERE ($1 IS NULL OR letter.subscription_id = $1)
            AND ($2 IS NULL OR letter.event_type = $2)
            AND ($3 IS NULL OR letter.final_error_code = $3)
            AND ($4 IS NULL OR letter.failed_at >= $4)
            AND ($5 IS NULL OR letter.failed_at < $5)
            AND NOT EXISTS (
              SELECT FROM sagapost.webhook_delivery_sagas AS heir
              WHERE heir.requeued_from = letter.id AND heir.event_id = letter.event_id%1$s%2$s)%3$s%4$s
          LIMIT $6
        ) AS matching
        $find$, ' AND heir.event_id >= ' || bounds.from_id, ' AND heir.event_id < ' || bounds.to_id,
        ' AND letter.event_id >= ' || bounds.from_id, ' AND letter.event_id < ' || bounds.to_id)
      INTO matching USING of_subscription, of_type, with_code, since, before, most + 1 - matched;
      RAISE SQLSTATE 'SP000';
    EXCEPTION WHEN SQLSTATE 'SP000' THEN
      CONTINUE WHEN matching.letters IS NULL;
    END;
    INSERT INTO sagapost.requeue_batches (saga_id, batch, letters, events)
    SELECT made.saga_id, batches + (place - 1) / batch_size, array_agg(id ORDER BY id), array_agg(event_id ORDER BY id)
    FROM unnest(matching.letters, matching.events) WITH ORDINALITY AS placed (id, event_id, place)
    GROUP BY 2;
    matched := matched + cardinality(matching.letters);
    batches := batches + (cardinality(matching.letters) + batch_size - 1) / batch_size;
    EXIT WHEN matched > most;
  END LOOP;
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

-- [D4, S19] Requeues the next batch by the rules of requeue_dead_letter, and counts each letter in one of three places.
-- Null when this attempt at the step is not the one that runs, so that a coordinator that lost the saga changes
-- nothing. Inserts in the order of ids, so that two requeues of the same letters cannot deadlock, and waits for no lock
-- for long, because a cancellation waits for this; a batch that fails is tried again.
CREATE FUNCTION sagapost.requeue_batch(requeue varchar, attempt integer, OUT total jsonb, OUT requeued_now integer)
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
  first_id bigint;
  last_id bigint;
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
  SELECT min(id), max(id) INTO first_id, last_id FROM unnest(todo.events) AS event (id);
  -- As in check_made_deliveries().
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.webhook_delivery_sagas'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;

  -- FOR SHARE waits for a deactivation that is under way, instead of racing it.
  SELECT array_agg(locked.id) INTO active FROM (
    SELECT subscription.id FROM sagapost.subscriptions AS subscription
    WHERE subscription.active AND subscription.verified AND subscription.id IN (
      SELECT letter.subscription_id FROM unnest(todo.letters, todo.events) AS given (id, event_id)
      JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id
        AND letter.event_id >= first_id AND letter.event_id <= last_id)
    ORDER BY subscription.id FOR SHARE OF subscription
  ) AS locked;

  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from, correlation_id)
  SELECT letter.event_id, letter.subscription_id, letter.id, letter.correlation_id
  FROM unnest(todo.letters, todo.events) AS given (id, event_id)
  JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id
    AND letter.event_id >= first_id AND letter.event_id <= last_id
  WHERE letter.subscription_id = ANY (active) AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.requeued_from = letter.id AND saga.event_id = letter.event_id
      AND saga.event_id >= first_id AND saga.event_id <= last_id)
  ORDER BY letter.id
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS requeued_now = ROW_COUNT;
  PERFORM sagapost.look_at_requeued(todo.events);

  -- A statement of its own, which sees what others have requeued meanwhile.
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
      WHERE saga.requeued_from = given.id AND saga.event_id = given.event_id
        AND saga.event_id >= first_id AND saga.event_id <= last_id) AS taken
  ) AS known
  CROSS JOIN LATERAL (
    SELECT known.taken, CASE
      WHEN known.taken THEN NULL
      ELSE coalesce((
        SELECT CASE WHEN subscription.deleted_at IS NULL THEN 'subscription_inactive' ELSE 'subscription_deleted' END
        FROM sagapost.dead_letters AS letter
        JOIN sagapost.subscriptions AS subscription ON subscription.id = letter.subscription_id
        WHERE letter.id = given.id AND letter.event_id = given.event_id
          AND letter.event_id >= first_id AND letter.event_id <= last_id), 'dead_letter_not_found') END AS refusal
  ) AS outcome;

  -- A letter of an active subscription that was not requeued: see requeue_dead_letter().
  SELECT given.id INTO todo
  FROM unnest(todo.letters, todo.events) AS given (id, event_id)
  JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id
    AND letter.event_id >= first_id AND letter.event_id <= last_id
  WHERE letter.subscription_id = ANY (active) AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.requeued_from = given.id AND saga.event_id = given.event_id
      AND saga.event_id >= first_id AND saga.event_id <= last_id)
  LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation',
      MESSAGE = format('dead letter %s cannot be requeued: the id of its new delivery is taken', todo.id),
      CONSTRAINT = 'webhook_delivery_sagas_pkey', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;

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

-- Forgets the rest of the plan of a requeue that is being undone, and returns how many batches. What was requeued stays
-- so.
CREATE FUNCTION sagapost.discard_requeue(requeue varchar) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  discarded integer;
BEGIN
  DELETE FROM sagapost.requeue_batches AS batch
  WHERE batch.saga_id = requeue AND EXISTS (
    SELECT FROM sagapost.saga_steps AS step WHERE step.id = requeue || ':0' AND step.state = 4);
  GET DIAGNOSTICS discarded = ROW_COUNT;
  RETURN discarded;
END
$$;

-- Forgets the plans of requeues that ended without doing them, because they were cancelled before they began; returns
-- how many batches. Reads the batches of running requeues as well, without their letters: at most a thousand rows for
-- each.
CREATE FUNCTION sagapost.discard_ended_requeues() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  discarded integer;
BEGIN
  DELETE FROM sagapost.requeue_batches AS batch USING sagapost.saga_instances AS saga
  WHERE saga.id = batch.saga_id
    AND (saga.state IN (3, 5, 7, 8) OR saga.state = 6 AND NOT saga.awaiting_operator);
  GET DIAGNOSTICS discarded = ROW_COUNT;
  RETURN discarded;
END
$$;
COMMENT ON FUNCTION sagapost.discard_ended_requeues() IS
  'Deletes the batches of requeues that have ended; returns how many';

-- The end of a secret's overlap ---------------------------------------------------------------------------------------

-- Removes the secrets of all subscriptions that have ended, so that each run makes up for one that was cancelled.
-- Returns how many.
CREATE FUNCTION sagapost.remove_ended_secrets() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  removed integer;
BEGIN
  UPDATE sagapost.subscription_secrets SET ciphertext = NULL
  WHERE expires_at <= sagapost.now() AND ciphertext IS NOT NULL;
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END
$$;

-- Stores the saga that ends the overlap of a rotation: due when the previous secret of the subscription ends, to the
-- microsecond.
CREATE FUNCTION sagapost.start_secret_rotation(given jsonb)
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
