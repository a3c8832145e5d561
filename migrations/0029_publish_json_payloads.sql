-- Many events in one statement, as in 0011, with two things spared. Payloads come as JSON, so that the caller may take them
-- out of one list: an array of texts is read character by character, and each text once more as JSON. And where all keys
-- are new, which they nearly always are, they are not looked up again: what was stored has the ids that this call gave.
DROP FUNCTION sagapost.publish_batch(text[], text[], text[], text[], text[]);

CREATE FUNCTION sagapost.publish_batch(
  event_types text[], payloads json[], idempotency_keys text[], correlation_ids text[], traceparents text[]
) RETURNS TABLE (item integer, id bigint, created_at timestamptz, duplicate boolean, conflict boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  new_ids bigint[] := ARRAY(
    SELECT nextval('sagapost.events_id_seq') FROM generate_series(1, cardinality(event_types)));
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
    WHERE key IS NOT NULL
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
         given.key IS NOT NULL AND known.event_id <> given.new_id,
         given.key IS NOT NULL AND known.fingerprint <> given.fingerprint
  FROM unnest(new_ids, idempotency_keys, fingerprints) WITH ORDINALITY AS given (new_id, key, fingerprint, item)
  LEFT JOIN sagapost.event_keys AS known ON known.key = given.key
  ORDER BY given.item;
END
$$;

REVOKE ALL ON FUNCTION sagapost.publish_batch(text[], json[], text[], text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.publish_batch(text[], json[], text[], text[], text[]) TO event_ingest_writer;
