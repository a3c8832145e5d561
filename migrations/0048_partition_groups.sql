-- Statements over all partitions lock each of them and each of its indexes: with 301 ranges some 2,400 locks. They are split
-- into groups of partitions (database/read-ranges.ts), and no transaction locks more than one group.

-- Groups of at most `size` ranges, newest first. The newest has no end and the oldest no beginning, so that together they
-- hold every event, also when a partition was made or removed since. Names tell the ranges, as in 0044.
CREATE FUNCTION sagapost.partition_groups(size integer DEFAULT 16) RETURNS TABLE (from_id bigint, to_id bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  WITH borders AS (
    SELECT DISTINCT substring(partition.relname FROM '_from_([0-9]+)$')::bigint AS border
    FROM pg_inherits JOIN pg_class AS partition ON partition.oid = inhrelid
    WHERE inhparent IN ('sagapost.events'::regclass, 'sagapost.webhook_delivery_sagas'::regclass,
                        'sagapost.webhook_delivery_jobs'::regclass, 'sagapost.dead_letters'::regclass)
  ), groups AS (
    SELECT place, min(border) AS border
    FROM (SELECT border, (row_number() OVER (ORDER BY border DESC) - 1) / size AS place FROM borders) AS placed
    WHERE border IS NOT NULL
    GROUP BY place
  )
  SELECT CASE WHEN place < max(place) OVER () THEN border END, lag(border) OVER (ORDER BY place)
  FROM groups ORDER BY place
$$;
REVOKE ALL ON FUNCTION sagapost.partition_groups(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.partition_groups(integer) TO saga_readonly_role;

-- The event of a row that is known by its id alone, group by group from the newest, by the table's primary key; null where
-- there is none. A subtransaction that ends with an error gives its locks back, and variables keep what it has found.
CREATE FUNCTION sagapost.find_event_id(growing text, wanted bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  bounds record;
  event_id bigint;
BEGIN
  FOR bounds IN SELECT from_id, to_id FROM sagapost.partition_groups() LOOP
    BEGIN
      EXECUTE format('SELECT event_id FROM sagapost.%I WHERE id = $1%s%s', growing,
                     ' AND event_id >= ' || bounds.from_id, ' AND event_id < ' || bounds.to_id)
      INTO event_id USING wanted;
      RAISE SQLSTATE 'SP000';
    EXCEPTION WHEN SQLSTATE 'SP000' THEN
      EXIT WHEN event_id IS NOT NULL;
    END;
  END LOOP;
  RETURN event_id;
END
$$;
REVOKE ALL ON FUNCTION sagapost.find_event_id(text, bigint) FROM PUBLIC;

-- As in 0032, in the partition of the delivery.
CREATE OR REPLACE FUNCTION sagapost.cancel_delivery(delivery_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  of_event constant bigint := sagapost.find_event_id('webhook_delivery_sagas', delivery_id);
  delivery record;
BEGIN
  SELECT id, event_id, status, final_error_code INTO delivery
  FROM sagapost.webhook_delivery_sagas
  WHERE id = delivery_id AND event_id = of_event;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP008',
      MESSAGE = format('there is no delivery %s', coalesce(delivery_id::text, 'null')),
      CONSTRAINT = 'cancelled_delivery_exists', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;
  IF delivery.status = 'DeadLettered' AND delivery.final_error_code = 'cancelled' THEN
    RETURN;
  END IF;
  IF delivery.status IN ('Completed', 'DeadLettered') THEN
    RAISE EXCEPTION USING ERRCODE = 'SP003',
      MESSAGE = format('delivery %s is %s: it can no longer be cancelled', delivery.id, delivery.status),
      CONSTRAINT = 'cancelled_delivery_is_open', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;
  INSERT INTO sagapost.delivery_cancellations (saga_id, event_id) VALUES (delivery.id, delivery.event_id)
  ON CONFLICT (saga_id) DO NOTHING;
  PERFORM pg_notify('sagapost_wake', 'switches');
END
$$;

-- [D4, S19] As in 0032, in the partition of the dead letter.
CREATE OR REPLACE FUNCTION sagapost.requeue_dead_letter(dead_letter_id bigint, OUT delivery_id bigint, OUT created boolean)
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

  -- FOR SHARE: a subscription that is being switched off is waited for, not raced.
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
    -- Another conflict than that of a requeue: the sequence was set back.
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'unique_violation',
        MESSAGE = format('dead letter %s cannot be requeued: the id of its new delivery is taken', letter.id),
        CONSTRAINT = 'webhook_delivery_sagas_pkey', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
    END IF;
  END IF;
END
$$;

-- As in 0013, group by group.
CREATE OR REPLACE FUNCTION sagapost.gone_subscriptions(since timestamptz)
RETURNS TABLE (subscription_id bigint, observed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  bounds record;
  matching record;
  gone bigint[] := '{}';
  times timestamptz[] := '{}';
BEGIN
  FOR bounds IN SELECT from_id, to_id FROM sagapost.partition_groups() LOOP
    BEGIN
      EXECUTE format($gone$
        SELECT array_agg(subscription_id) AS ids, array_agg(observed_at) AS times
        FROM (
          SELECT job.subscription_id, max(job.attempt_at) AS observed_at
          FROM sagapost.webhook_delivery_jobs AS job
          JOIN sagapost.subscriptions AS subscription ON subscription.id = job.subscription_id
          WHERE job.error_code = 'http_410' AND job.finished_at >= $1
            AND subscription.active AND subscription.updated_at <= job.attempt_at%s%s
          GROUP BY job.subscription_id
        ) AS of_group
        $gone$, ' AND job.event_id >= ' || bounds.from_id, ' AND job.event_id < ' || bounds.to_id)
      INTO matching USING since;
      RAISE SQLSTATE 'SP000';
    EXCEPTION WHEN SQLSTATE 'SP000' THEN
      gone := gone || matching.ids;
      times := times || matching.times;
    END;
  END LOOP;
  RETURN QUERY
    SELECT each.subscription_id, max(each.observed_at)
    FROM unnest(gone, times) AS each (subscription_id, observed_at) GROUP BY each.subscription_id;
END
$$;

-- As in 0023, group by group, the oldest first. No batch is of more than one group.
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
  bounds record;
  matching record;
  matched bigint := 0;
  batches integer := 0;
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

-- As in 0023, in the partitions of the batch.
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
  -- One plan for all values locks every partition, as in 0036.
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.webhook_delivery_sagas'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;

  -- FOR SHARE: a subscription that is being switched off is waited for, not raced.
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

  -- Letters of active subscriptions that neither this batch nor another request has requeued: as in requeue_dead_letter.
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
