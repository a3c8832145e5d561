-- A payload without a limit ends each process that reads it: JavaScript has no text beyond 512 MiB.

-- The largest payload that is stored, in bytes; at least what the HTTP API takes. A function and not a setting, which any
-- session could raise for itself; the planner puts its value into the check below.
CREATE FUNCTION sagapost.payload_bytes_max() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1048576;

-- For the owner of the schema: another limit, without a lock on the table. Beyond 16 MiB no part reads a payload
-- (src/events/payload-limits.ts).
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

-- Events from before are not looked at. The size as stored spares small payloads the way through text: 2 kB are less
-- than 1 MiB however they are compressed (lz4 makes 255 bytes of one at the most).
ALTER TABLE sagapost.events ADD CONSTRAINT events_payload_size CHECK (
  pg_column_size(payload) <= 2048 OR octet_length(payload::text) <= sagapost.payload_bytes_max()) NOT VALID;

-- As in 0008, and says what is too large before anything is done with it.
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

REVOKE ALL ON FUNCTION sagapost.payload_bytes_max(), sagapost.limit_payloads(integer) FROM PUBLIC;
-- A check runs with the rights of the role that inserts.
GRANT EXECUTE ON FUNCTION sagapost.payload_bytes_max() TO event_ingest_writer, event_publisher, saga_readonly_role;

COMMENT ON FUNCTION sagapost.payload_bytes_max() IS
  'The largest payload of an event, in bytes; changed by sagapost.limit_payloads';
COMMENT ON FUNCTION sagapost.limit_payloads(integer) IS
  'Sets the largest payload of an event, 1 to 16 MiB; for the owner of the schema';
