-- Events [E1], their idempotency keys [E3], and the functions that publish.

-- The largest payload in bytes; not below what the HTTP API accepts. Without a limit, one event could end every process
-- that reads it: a JavaScript string ends at 512 MiB. A function and not a setting, because any session could raise a
-- setting for itself; the planner inlines its value.
CREATE FUNCTION sagapost.payload_bytes_max() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1048576;

-- For the owner of the schema: another limit, without a lock on the table. No part reads a payload beyond 16 MiB.
CREATE FUNCTION sagapost.limit_payloads(bytes_max integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF bytes_max IS NULL OR bytes_max NOT BETWEEN 1048576 AND 16777216 THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = 'the limit of payloads is 1048576 (1 MiB) to 16777216 bytes (16 MiB)';
  END IF;
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION sagapost.payload_bytes_max() RETURNS integer
       LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN %s', bytes_max);
END
$$;

COMMENT ON FUNCTION sagapost.payload_bytes_max() IS
  'The largest payload of an event, in bytes; changed by sagapost.limit_payloads';
COMMENT ON FUNCTION sagapost.limit_payloads(integer) IS
  'Sets the largest payload of an event, 1 to 16 MiB; for the owner of the schema';

-- Not an identity column: before PostgreSQL 17, partitioned tables have none.
CREATE SEQUENCE sagapost.events_id_seq;

-- Events, deliveries, jobs and dead letters are never deleted row by row. All four tables are partitioned by ranges of
-- the event id, so that retention is DETACH and DROP.
CREATE TABLE sagapost.events (
  id             bigint       NOT NULL DEFAULT nextval('sagapost.events_id_seq'),
  event_type     varchar(100) NOT NULL,
  created_at     timestamptz  NOT NULL DEFAULT sagapost.now(),
  -- json, not jsonb: the bytes that came in are the bytes that are signed and sent.
  payload        json         NOT NULL,
  correlation_id varchar(255),
  traceparent    varchar(128),
  CONSTRAINT events_pkey PRIMARY KEY (id),
  CONSTRAINT events_event_type_format CHECK (event_type ~ '^[A-Za-z0-9_.-]+$'),
  -- Both are sent as HTTP headers: a value that a header cannot carry would fail every attempt.
  CONSTRAINT events_correlation_id_printable CHECK (correlation_id <> '' AND correlation_id !~ '[^\x21-\x7e]'),
  CONSTRAINT events_traceparent_printable CHECK (traceparent <> '' AND traceparent !~ '[^\x21-\x7e]'),
  -- The stored size spares small payloads the conversion to text: a stored payload of 2 kB has less than 1 MiB, however
  -- well it is compressed (lz4 turns 255 bytes into one at best).
  CONSTRAINT events_payload_size CHECK (
    pg_column_size(payload) <= 2048 OR octet_length(payload::text) <= sagapost.payload_bytes_max())
) PARTITION BY RANGE (id);

ALTER SEQUENCE sagapost.events_id_seq OWNED BY sagapost.events.id;

-- For the lists of events, by time and by type.
CREATE INDEX idx_event_created ON sagapost.events (created_at);
CREATE INDEX idx_event_type ON sagapost.events (event_type, created_at);

-- One row per idempotency key. A key is a duplicate as long as its row exists; expire_event_keys removes rows older
-- than the deduplication window. The fingerprint tells a repeated event from another event under the same key, even
-- when the event's partition has been dropped.
CREATE TABLE sagapost.event_keys (
  -- text, not varchar(255): a cast to varchar silently cuts trailing spaces.
  key         text        NOT NULL,
  event_id    bigint      NOT NULL,
  fingerprint bytea       NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT event_keys_pkey PRIMARY KEY (key),
  CONSTRAINT event_keys_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
  CONSTRAINT event_keys_fingerprint_sha256 CHECK (octet_length(fingerprint) = 32)
);

-- Rows arrive and leave in the order of time: BRIN serves that at almost no cost per insert.
CREATE INDEX idx_event_keys_created ON sagapost.event_keys USING brin (created_at)
  WITH (pages_per_range = 16, autosummarize = on);

-- Guards --------------------------------------------------------------------------------------------------------------

-- [E2]
CREATE TRIGGER event_is_append_only
  BEFORE UPDATE OR DELETE ON sagapost.events
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'events are append-only');

CREATE TRIGGER truncate_is_refused
  BEFORE TRUNCATE ON sagapost.events
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP005', 'rows are never deleted');

-- Types that begin with saga. or sagapost. are Sagapost's own, so that a receiver can trust their sender. The owner may
-- store them (a saga's history, a restore of the data), but not through the functions that publish for others: those
-- run as the owner too, so the call stack tells them apart. Not SECURITY DEFINER: current_user is the role that
-- inserts.
CREATE FUNCTION sagapost.refuse_reserved_type() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  calls text;
BEGIN
  GET DIAGNOSTICS calls = PG_CONTEXT;
  -- With the types of arguments: the stack also has the texts of statements, which may name several functions.
  IF calls ~ 'sagapost\.publish(_batch|_awaited_events)?\((text|text\[\]|jsonb)[,)]' OR NOT pg_has_role(current_user, (
    SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
      MESSAGE = format('the event type %L begins with saga. or sagapost., which are Sagapost''s own', NEW.event_type),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER event_type_is_reserved
  BEFORE INSERT ON sagapost.events
  FOR EACH ROW WHEN (starts_with(NEW.event_type, 'saga.') OR starts_with(NEW.event_type, 'sagapost.'))
  EXECUTE FUNCTION sagapost.refuse_reserved_type();

ALTER TABLE sagapost.events
  ENABLE ALWAYS TRIGGER event_is_append_only,
  ENABLE ALWAYS TRIGGER truncate_is_refused,
  ENABLE ALWAYS TRIGGER event_type_is_reserved;

-- Publishing ----------------------------------------------------------------------------------------------------------

-- sagapost.publish('order.placed', '{"id": 7}', 'order-7') stores an event in the caller's transaction and returns its
-- id. The same key with the same type and payload returns the first id; with another type or payload it is refused
-- [E3]. With one new key in two calls, the second waits for the first. The key is looked up before an id is taken: a
-- client that repeats itself burns no ids, which would bring the end of the partitions nearer.
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
  -- The rules of the columns, under the names of their constraints: columns would refuse with other messages, or
  -- truncate.
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
      EXIT WHEN FOUND; -- otherwise another call has stored the key since: the next look finds it
    END LOOP;
  END IF;
  new_id := coalesce(new_id, nextval('sagapost.events_id_seq'));
  INSERT INTO sagapost.events (id, event_type, payload, correlation_id, traceparent)
  VALUES (new_id, event_type, payload, correlation_id, traceparent);
  RETURN new_id;
END
$$;

-- For jsonb, and for plain string literals, which PostgreSQL resolves to text.
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

-- Many events in one statement, by the rules of publish. An item whose key belongs to another event comes back with
-- `conflict` and is not stored; the others are. Payloads are json, because an array of texts would be parsed twice. If
-- all keys are new, as nearly always, they are not looked up again. LIMIT keeps the planner from hashing all known
-- keys.
CREATE FUNCTION sagapost.publish_batch(
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
  -- In the order of keys, so that two batches with the same keys cannot deadlock. If a batch has a key twice, the first
  -- item gets it.
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

  -- A statement of its own, which sees the keys that others committed while this call waited for them.
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

-- Removes keys older than the deduplication window, at most `most` per call, and returns how many. Keys of the last
-- minute always stay. Finds them by idx_event_keys_created and deletes them by their place on disk.
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
