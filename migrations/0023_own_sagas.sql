-- Sagapost's own long work as sagas: a requeue by filter, and the end of a secret's overlap. Whoever may ask for them
-- starts them by a function and has no other right to sagas; the coordinator (saga_app_role) runs what was planned, and
-- can plan nothing.

-- How far a step that takes long has come, for whoever looks. Written by the step's own work, in its transaction.
ALTER TABLE sagapost.saga_steps ADD COLUMN progress jsonb;
COMMENT ON COLUMN sagapost.saga_steps.progress IS 'How far the step has come, while it runs and afterwards; by steps of Sagapost''s own';

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

-- Requeue by filter ----------------------------------------------------------------------------------------
--
-- What the filter found when it was asked, cut into batches at once: a dead letter that comes later is never among them,
-- not even one whose id is lower because it was being written at that moment, and `matching` is exact. A batch goes away
-- in the transaction that requeues it: it happens once or not at all.
CREATE TABLE sagapost.requeue_batches (
  saga_id varchar(255) NOT NULL,
  batch   integer      NOT NULL,
  -- Dead letters, ascending, and the events they belong to: both together find a row in its partition.
  letters bigint[]     NOT NULL,
  events  bigint[]     NOT NULL,
  CONSTRAINT requeue_batches_pkey PRIMARY KEY (saga_id, batch),
  CONSTRAINT fk_requeue_batches_saga FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE
);
REVOKE ALL ON sagapost.requeue_batches FROM PUBLIC;
GRANT SELECT ON sagapost.requeue_batches TO saga_readonly_role;

-- Saves the saga, and the batches of what its input, the filter, finds, without what was requeued before: that is none of
-- its work, and would fill the batches of every later request. A key that was used before makes nothing and answers the
-- first one. Planned for its values: each filter has its index (0016); by uniq_saga_requeued_from, one probe for each
-- letter that is looked at, whatever the planner expects to find.
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

-- [D4, S19] Requeues the next batch, by the rules of requeue_dead_letter, and counts it: each dead letter ends up in one
-- of three places. Null when this attempt at the step is not the one that runs: whoever lost the saga, or was told to
-- stop, changes nothing. The step's row is the turn that two of them wait for.
--
-- By primary keys, and uniq_saga_requeued_from. Rows are locked and made in the order of their ids, so that two requeues
-- of the same letters wait for each other in one direction only. Nobody is waited for long, because a cancel waits for
-- this; a batch that fails is tried again. Sagas that wait for these events are told (0024).
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

-- Forgets what is left of the plan of one that is being undone: what was requeued stays so. Returns how many batches.
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

-- What was planned by a requeue that has ended without doing it, because it was cancelled before it began. Returns how
-- many batches. Those of requeues that run are read as well, without their letters: a thousand rows at the most for each.
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

REVOKE ALL ON FUNCTION sagapost.start_dead_letter_requeue(jsonb, integer, integer),
  sagapost.requeue_batch(varchar, integer), sagapost.discard_requeue(varchar), sagapost.discard_ended_requeues()
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.start_dead_letter_requeue(jsonb, integer, integer) TO dead_letter_operator;
GRANT EXECUTE ON FUNCTION sagapost.requeue_batch(varchar, integer), sagapost.discard_requeue(varchar),
  sagapost.discard_ended_requeues() TO saga_app_role;

COMMENT ON TABLE sagapost.requeue_batches IS
  'What a requeue by filter has still to do: dead letters that matched when it was asked for; a batch goes away when it is done';
COMMENT ON FUNCTION sagapost.discard_ended_requeues() IS
  'Removes the batches of requeues that have ended; returns how many';

-- The end of an overlap ------------------------------------------------------------------------------------
--
-- A secret that has ended signs nothing any more, and nothing of it is kept but when it was there.
ALTER TABLE sagapost.subscription_secrets
  ALTER COLUMN ciphertext DROP NOT NULL,
  ADD CONSTRAINT subscription_secrets_current_is_kept CHECK (ciphertext IS NOT NULL OR expires_at IS NOT NULL);
COMMENT ON COLUMN sagapost.subscription_secrets.ciphertext IS 'Null once the secret has ended, and was removed';

UPDATE sagapost.subscription_secrets SET ciphertext = NULL WHERE expires_at <= sagapost.now();

-- The few that have an end ahead of them.
CREATE INDEX idx_secret_ending ON sagapost.subscription_secrets (expires_at)
  WHERE expires_at IS NOT NULL AND ciphertext IS NOT NULL;

-- Removes what has ended, of all subscriptions: whoever runs it makes up for one that was cancelled. Returns how many.
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

-- Saves the saga that ends a rotation's overlap: nobody takes it up before the previous secret of the subscription has
-- ended, to the microsecond.
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

REVOKE ALL ON FUNCTION sagapost.remove_ended_secrets(), sagapost.start_secret_rotation(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.remove_ended_secrets() TO saga_app_role;
GRANT EXECUTE ON FUNCTION sagapost.start_secret_rotation(jsonb) TO subscription_admin;
