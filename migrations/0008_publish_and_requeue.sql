-- The two doors for other programs: publish an event, take up a dead letter. Both SECURITY DEFINER.

-- sagapost.publish('order.placed', '{"id": 7}', 'order-7') stores an event inside the caller's transaction
-- and returns its id. The same key with the same type and payload returns the id of the first call; with
-- another type or payload it is refused [E3]. Two callers with one key: the second waits for the first.
CREATE FUNCTION sagapost.publish(
  event_type text, payload json, idempotency_key text DEFAULT NULL,
  correlation_id text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  new_id bigint;
  known sagapost.event_keys;
  new_fingerprint bytea;
BEGIN
  -- What the columns would refuse with another message each, or cut to size, under the names of their rules.
  IF event_type !~ '^[A-Za-z0-9_.-]{1,100}$' THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
      MESSAGE = 'an event type is 1 to 100 characters of A-Z, a-z, 0-9, _, . and -',
      CONSTRAINT = 'events_event_type_format', SCHEMA = 'sagapost', TABLE = 'events';
  END IF;
  IF char_length(idempotency_key) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
      MESSAGE = 'an idempotency key is 1 to 255 characters',
      CONSTRAINT = 'event_keys_key_length', SCHEMA = 'sagapost', TABLE = 'event_keys';
  END IF;
  new_id := nextval('sagapost.events_id_seq');
  IF idempotency_key IS NOT NULL THEN
    new_fingerprint := sha256(convert_to(event_type || E'\n' || payload::text, 'UTF8'));
    LOOP
      INSERT INTO sagapost.event_keys AS keys (key, event_id, fingerprint)
      VALUES (idempotency_key, new_id, new_fingerprint)
      ON CONFLICT (key) DO NOTHING;
      EXIT WHEN FOUND;
      SELECT * INTO known FROM sagapost.event_keys AS keys WHERE keys.key = idempotency_key;
      CONTINUE WHEN NOT FOUND; -- it expired between the two statements, so it is free again
      IF known.fingerprint <> new_fingerprint THEN
        RAISE EXCEPTION USING ERRCODE = 'SP007',
          MESSAGE = format('the key %L was used for another event (id %s)', idempotency_key, known.event_id),
          CONSTRAINT = 'event_key_conflict', SCHEMA = 'sagapost', TABLE = 'event_keys';
      END IF;
      RETURN known.event_id;
    END LOOP;
  END IF;
  INSERT INTO sagapost.events (id, event_type, payload, correlation_id, traceparent)
  VALUES (new_id, event_type, payload, correlation_id, traceparent);
  RETURN new_id;
END
$$;

-- For callers who hold jsonb, and for plain string literals, which PostgreSQL resolves to text.
CREATE FUNCTION sagapost.publish(
  event_type text, payload jsonb, idempotency_key text DEFAULT NULL,
  correlation_id text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT sagapost.publish(event_type, payload::json, idempotency_key, correlation_id, traceparent) $$;

CREATE FUNCTION sagapost.publish(
  event_type text, payload text, idempotency_key text DEFAULT NULL,
  correlation_id text DEFAULT NULL, traceparent text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT sagapost.publish(event_type, payload::json, idempotency_key, correlation_id, traceparent) $$;

-- Forgets keys older than the deduplication window, a bounded number per call; returns how many went. Never keys
-- of the last minute, whatever is asked for. Found by idx_event_keys_created, reached by their place on disk.
CREATE FUNCTION sagapost.expire_event_keys(older_than timestamptz, most integer DEFAULT 10000) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  expired integer;
BEGIN
  DELETE FROM sagapost.event_keys
  WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sagapost.event_keys
    WHERE created_at < least(older_than, sagapost.now() - interval '1 minute') LIMIT most));
  GET DIAGNOSTICS expired = ROW_COUNT;
  RETURN expired;
END
$$;

-- [D4, S19] A new Pending saga for the dead letter's event and subscription; asking again returns the one that
-- the first request made (`created` false), also when the subscription has been switched off since.
CREATE FUNCTION sagapost.requeue_dead_letter(dead_letter_id bigint, OUT delivery_id bigint, OUT created boolean)
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
  IF NOT created THEN
    SELECT id INTO STRICT delivery_id FROM sagapost.webhook_delivery_sagas
    WHERE requeued_from = letter.id AND event_id = letter.event_id;
  END IF;
END
$$;
