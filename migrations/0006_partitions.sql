-- Partitions of the four growing tables, made ahead of the ids without blocking a writer.
-- CREATE … PARTITION OF would take ACCESS EXCLUSIVE on the parent and stand behind every open publishing
-- transaction, with all publishing behind it; CREATE … LIKE and ATTACH take SHARE UPDATE EXCLUSIVE, which
-- no reader or writer conflicts with. There is no DEFAULT partition: it forbids DETACH … CONCURRENTLY.

CREATE TABLE sagapost.partition_settings (
  only_row             boolean NOT NULL DEFAULT true,
  -- How many event ids a new partition holds. Existing ones keep their ranges.
  events_per_partition bigint  NOT NULL DEFAULT 1000000,
  -- How many partitions' worth of ids lie ready beyond the newest event.
  partitions_ahead     integer NOT NULL DEFAULT 2,
  CONSTRAINT partition_settings_pkey PRIMARY KEY (only_row),
  CONSTRAINT partition_settings_one_row CHECK (only_row),
  CONSTRAINT partition_settings_events_range CHECK (events_per_partition BETWEEN 1000 AND 1000000000),
  CONSTRAINT partition_settings_ahead_range CHECK (partitions_ahead BETWEEN 2 AND 100)
);
INSERT INTO sagapost.partition_settings DEFAULT VALUES;

CREATE FUNCTION sagapost.growing_tables() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters'];

-- The partitions as the catalogue has them: `from_id` is the first event id, `to_id` the first one beyond.
CREATE VIEW sagapost.partitions AS
SELECT parent.relname AS table_name,
       partition.relname AS partition_name,
       (regexp_match(bounds.text, 'FROM \(''?(-?\d+)''?\)'))[1]::bigint AS from_id,
       (regexp_match(bounds.text, 'TO \(''?(-?\d+)''?\)'))[1]::bigint AS to_id
FROM pg_inherits
JOIN pg_class AS parent ON parent.oid = inhparent
JOIN pg_class AS partition ON partition.oid = inhrelid
CROSS JOIN LATERAL (SELECT pg_get_expr(partition.relpartbound, partition.oid) AS text) AS bounds
WHERE parent.relnamespace = 'sagapost'::regnamespace
  AND parent.relkind = 'p'
  AND parent.relname IN ('events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters')
  AND NOT pg_inherits.inhdetachpending;

-- Where the ranges without a gap end that the id falls into; null when the table has no partition for it.
CREATE FUNCTION sagapost.covered_until(growing_table text, id bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT min(last.to_id) FROM sagapost.partitions AS last
  WHERE last.table_name = growing_table AND last.to_id > id
    AND NOT EXISTS (
      SELECT FROM sagapost.partitions AS next
      WHERE next.table_name = growing_table AND next.from_id = last.to_id)
    AND EXISTS (
      SELECT FROM sagapost.partitions AS own
      WHERE own.table_name = growing_table AND own.from_id <= id AND own.to_id > id)
$$;

-- How many event ids can still be given out before publishing would fail for want of a partition: the
-- smallest over the four tables. `low` fails readiness: less than one partition's worth is left, so the loop
-- that makes them has not run for a long time, or cannot.
CREATE FUNCTION sagapost.partition_headroom(OUT headroom bigint, OUT low boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT covered.headroom, covered.headroom < settings.events_per_partition
  FROM sagapost.partition_settings AS settings
  CROSS JOIN (
    SELECT min(coalesce(sagapost.covered_until(growing, next_id.value) - next_id.value, 0)) AS headroom
    FROM unnest(sagapost.growing_tables()) AS growing
    CROSS JOIN (SELECT last_value + is_called::int AS value FROM sagapost.events_id_seq) AS next_id
  ) AS covered
$$;

-- Names the indexes of partitions after the parent's, with the range as suffix, so that a violated constraint can
-- be told by its name (`uniq_saga_event_subscription_from_1000000`). A migration that adds an index to a
-- partitioned table calls it afterwards.
CREATE FUNCTION sagapost.name_partition_indexes() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  index record;
BEGIN
  FOR index IN
    SELECT child.relname AS name, parent_index.relname || '_from_' || partition.from_id AS new_name
    FROM sagapost.partitions AS partition
    JOIN pg_index ON indrelid = format('sagapost.%I', partition.partition_name)::regclass
    JOIN pg_class AS child ON child.oid = indexrelid
    JOIN pg_inherits ON inhrelid = child.oid
    JOIN pg_class AS parent_index ON parent_index.oid = inhparent
    WHERE child.relname <> parent_index.relname || '_from_' || partition.from_id
  LOOP
    EXECUTE format('ALTER INDEX sagapost.%I RENAME TO %I', index.name, index.new_name);
  END LOOP;
END
$$;

-- One range of one table.
CREATE FUNCTION sagapost.make_partition(parent text, from_id bigint, to_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  suffix text := '_from_' || from_id;
  partition text := parent || suffix;
  -- Sagas and jobs are updated a few times and then never again: room on the page keeps the versions together.
  options text := CASE WHEN parent LIKE 'webhook\_delivery\_%' THEN
    ' WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)' ELSE '' END;
BEGIN
  EXECUTE format('CREATE TABLE sagapost.%I (LIKE sagapost.%I INCLUDING ALL)%s', partition, parent, options);

  -- Statement triggers are not cloned by ATTACH, row triggers are.
  EXECUTE format(
    'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', partition);
  IF parent = 'events' THEN
    EXECUTE format(
      'CREATE TRIGGER event_enqueue_routing AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS stored
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER event_enqueue_routing', partition);
  END IF;

  EXECUTE format('ALTER TABLE sagapost.%I ATTACH PARTITION sagapost.%I FOR VALUES FROM (%s) TO (%s)',
    parent, partition, from_id, to_id);

  PERFORM sagapost.name_partition_indexes();
END
$$;

-- Makes what is missing, for all four tables or none, and returns the headroom that is there afterwards. Takes
-- no argument and does nothing when there is enough, so that any part may call it at any time. Only one makes
-- partitions at a time; another that comes meanwhile returns at once.
CREATE FUNCTION sagapost.ensure_partitions() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
AS $$
DECLARE
  width bigint;
  wanted bigint;
  next_id bigint;
  parent text;
  missing record;
  run_end bigint;
  next_from bigint;
  next_to bigint;
  -- Each range takes some sixty locks until the end of the transaction; what is still missing is made by the next call.
  made_max constant integer := 5;
  made integer := 0;
BEGIN
  -- The row is the lock: unlike an advisory lock, nobody without a right on it can hold it.
  SELECT events_per_partition, events_per_partition * partitions_ahead INTO width, wanted
  FROM sagapost.partition_settings FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN (sagapost.partition_headroom()).headroom;
  END IF;
  SELECT last_value + is_called::int INTO next_id FROM sagapost.events_id_seq;

  -- A table that lacks a range of the others which rows may still come into: somebody dropped it by hand.
  FOR missing IN
    SELECT growing.name, present.from_id, present.to_id
    FROM unnest(sagapost.growing_tables()) AS growing (name)
    CROSS JOIN (SELECT DISTINCT from_id, to_id FROM sagapost.partitions WHERE to_id > next_id) AS present
    WHERE NOT EXISTS (
      SELECT FROM sagapost.partitions AS own
      WHERE own.table_name = growing.name AND own.from_id = present.from_id AND own.to_id = present.to_id)
  LOOP
    PERFORM sagapost.make_partition(missing.name, missing.from_id, missing.to_id);
  END LOOP;

  LOOP
    run_end := sagapost.covered_until('events', next_id);
    EXIT WHEN run_end - next_id >= wanted OR made = made_max;
    -- Where the ids have run past the partitions (a restored backup, a loop that stood still), ranges that lie
    -- wholly behind the next id are not made: no new row can fall into them. A gap before a later partition is
    -- filled up to it.
    next_from := coalesce(run_end, (
      SELECT greatest(next_id - next_id % width, max(to_id)) FROM sagapost.partitions WHERE to_id <= next_id));
    next_to := least(next_from + width, (SELECT min(from_id) FROM sagapost.partitions WHERE from_id > next_from));
    FOREACH parent IN ARRAY sagapost.growing_tables() LOOP
      PERFORM sagapost.make_partition(parent, next_from, next_to);
    END LOOP;
    made := made + 1;
  END LOOP;
  RETURN (sagapost.partition_headroom()).headroom;
END
$$;

SELECT sagapost.ensure_partitions();
