-- An id is taken for an event that may be stored, and none for a key that is known: a client that repeats itself for days
-- leaves no gaps in the ids, and brings no partition nearer to its end. Two calls with a new key at the same time still
-- take one each. What a burned id costs is in docs/internals/decisions.md.

-- As in 0034, but it looks for the key before it takes an id.
CREATE OR REPLACE FUNCTION sagapost.publish(
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
  IF pg_column_size(payload) > 2048 AND octet_length(payload::text) > sagapost.payload_bytes_max() THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
      MESSAGE = format('the payload has %s bytes; at most %s are taken',
        octet_length(payload::text), sagapost.payload_bytes_max()),
      CONSTRAINT = 'events_payload_size', SCHEMA = 'sagapost', TABLE = 'events';
  END IF;
  IF idempotency_key IS NOT NULL THEN
    new_fingerprint := sha256(convert_to(event_type || E'\n' || payload::text, 'UTF8'));
    LOOP
      SELECT * INTO known FROM sagapost.event_keys AS keys WHERE keys.key = idempotency_key;
      IF FOUND THEN
        IF known.fingerprint <> new_fingerprint THEN
          RAISE EXCEPTION USING ERRCODE = 'SP007',
            MESSAGE = format('the key %L was used for another event (id %s)', idempotency_key, known.event_id),
            CONSTRAINT = 'event_key_conflict', SCHEMA = 'sagapost', TABLE = 'event_keys';
        END IF;
        RETURN known.event_id;
      END IF;
      new_id := coalesce(new_id, nextval('sagapost.events_id_seq'));
      INSERT INTO sagapost.event_keys AS keys (key, event_id, fingerprint)
      VALUES (idempotency_key, new_id, new_fingerprint)
      ON CONFLICT (key) DO NOTHING;
      EXIT WHEN FOUND; -- else another call has stored the key since: the next look finds it
    END LOOP;
  END IF;
  new_id := coalesce(new_id, nextval('sagapost.events_id_seq'));
  INSERT INTO sagapost.events (id, event_type, payload, correlation_id, traceparent)
  VALUES (new_id, event_type, payload, correlation_id, traceparent);
  RETURN new_id;
END
$$;

-- As in 0029. Items with a known key have no id of their own. LIMIT makes it one look by event_keys_pkey for each, and
-- never a table of all keys.
CREATE OR REPLACE FUNCTION sagapost.publish_batch(
  event_types text[], payloads json[], idempotency_keys text[], correlation_ids text[], traceparents text[]
) RETURNS TABLE (item integer, id bigint, created_at timestamptz, duplicate boolean, conflict boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  new_ids bigint[] := ARRAY(
    SELECT CASE WHEN key IS NULL OR (SELECT true FROM sagapost.event_keys AS known WHERE known.key = given.key LIMIT 1)
             IS NULL THEN nextval('sagapost.events_id_seq') END
    FROM unnest(event_types, idempotency_keys) WITH ORDINALITY AS given (type, key, item)
    ORDER BY item);
  fingerprints bytea[] := ARRAY(
    SELECT CASE WHEN key IS NOT NULL THEN sha256(convert_to(type || E'\n' || payload::text, 'UTF8')) END
    FROM unnest(event_types, payloads, idempotency_keys) WITH ORDINALITY AS given (type, payload, key, item)
    ORDER BY item);
  stored integer;
BEGIN
  -- Keys in one order for everybody, so that two batches with the same keys cannot deadlock. Of one key twice in
  -- a batch the first item has it.
  WITH claimed AS (
    INSERT INTO sagapost.event_keys (key, event_id, fingerprint)
    SELECT DISTINCT ON (key) key, new_id, fingerprint
    FROM unnest(idempotency_keys, new_ids, fingerprints) WITH ORDINALITY AS given (key, new_id, fingerprint, item)
    WHERE key IS NOT NULL AND new_id IS NOT NULL
    ORDER BY key, item
    ON CONFLICT (key) DO NOTHING
    RETURNING event_id
  )
  INSERT INTO sagapost.events (id, event_type, payload, correlation_id, traceparent)
  SELECT new_id, type, payload, correlation_id, traceparent
  FROM unnest(new_ids, event_types, payloads, idempotency_keys, correlation_ids, traceparents)
    AS given (new_id, type, payload, key, correlation_id, traceparent)
  WHERE key IS NULL OR new_id IN (SELECT event_id FROM claimed);

  GET DIAGNOSTICS stored = ROW_COUNT;
  IF stored = cardinality(event_types) THEN
    RETURN QUERY
    SELECT given.item::integer, given.new_id, sagapost.now(), false, false
    FROM unnest(new_ids) WITH ORDINALITY AS given (new_id, item);
    RETURN;
  END IF;

  -- In a statement of its own, which sees the keys that others committed while we waited for them.
  RETURN QUERY
  SELECT given.item::integer,
         CASE WHEN given.key IS NULL THEN given.new_id ELSE known.event_id END,
         CASE WHEN given.key IS NULL THEN sagapost.now() ELSE known.created_at END,
         given.key IS NOT NULL AND known.event_id IS DISTINCT FROM given.new_id,
         given.key IS NOT NULL AND known.fingerprint <> given.fingerprint
  FROM unnest(new_ids, idempotency_keys, fingerprints) WITH ORDINALITY AS given (new_id, key, fingerprint, item)
  LEFT JOIN sagapost.event_keys AS known ON known.key = given.key
  ORDER BY given.item;
END
$$;
