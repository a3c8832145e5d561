-- Partitions of the four growing tables, made ahead of the ids, and how statements over many of them stay small.

-- One row. A table and not settings of the session, which the functions below would take from any caller.
CREATE TABLE sagapost.partition_settings (
  only_row             boolean  NOT NULL DEFAULT true,
  -- How many event ids a new partition holds. Existing ones keep their ranges.
  events_per_partition bigint   NOT NULL DEFAULT 1000000,
  -- How many partitions' worth of ids are ready beyond the newest event.
  partitions_ahead     integer  NOT NULL DEFAULT 2,
  -- Partitions of saga_events are by time, and off by default.
  saga_events_every    interval NOT NULL DEFAULT '1 month',
  CONSTRAINT partition_settings_pkey PRIMARY KEY (only_row),
  CONSTRAINT partition_settings_one_row CHECK (only_row),
  CONSTRAINT partition_settings_events_range CHECK (events_per_partition BETWEEN 1000 AND 1000000000),
  CONSTRAINT partition_settings_ahead_range CHECK (partitions_ahead BETWEEN 2 AND 100),
  CONSTRAINT partition_settings_saga_events_range CHECK (saga_events_every >= interval '1 hour')
);
INSERT INTO sagapost.partition_settings DEFAULT VALUES;
COMMENT ON COLUMN sagapost.partition_settings.saga_events_every IS
  'How long a partition of saga_events lasts; set by partition_saga_events and ensure_saga_event_partitions';

-- The tables that are partitioned by ranges of the event id.
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

-- Where the ranges that hold the id and follow it without a gap end; null when the table has no partition for the id.
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

-- How many event ids can still be given out before publishing fails for want of a partition: the smallest number of the
-- four tables. `low` fails readiness: less than one partition's worth is left, so the loop that makes partitions has
-- not run for a long time, or cannot.
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

-- Making them ---------------------------------------------------------------------------------------------------------

-- Names the indexes of partitions after those of the table, with the range as suffix, so that the name of a violated
-- constraint tells the rule (`uniq_saga_event_subscription_from_1000000`). A migration that adds an index to a
-- partitioned table calls it afterwards. Ranges are read off the names: reading 300 bounds made a new partition take
-- 250 ms.
CREATE FUNCTION sagapost.name_partition_indexes() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  index record;
BEGIN
  FOR index IN
    SELECT child.relname AS name, parent_index.relname || suffix AS new_name
    FROM unnest(sagapost.growing_tables()) AS growing (name)
    JOIN pg_class AS parent ON parent.relname = growing.name AND parent.relnamespace = 'sagapost'::regnamespace
    JOIN pg_inherits AS attached ON attached.inhparent = parent.oid AND NOT attached.inhdetachpending
    JOIN pg_class AS partition ON partition.oid = attached.inhrelid
    CROSS JOIN LATERAL substr(partition.relname, length(parent.relname) + 1) AS suffix
    JOIN pg_index ON indrelid = partition.oid
    JOIN pg_class AS child ON child.oid = indexrelid
    JOIN pg_inherits AS belongs ON belongs.inhrelid = child.oid
    JOIN pg_class AS parent_index ON parent_index.oid = belongs.inhparent
    WHERE child.relname <> parent_index.relname || suffix
  LOOP
    EXECUTE format('ALTER INDEX sagapost.%I RENAME TO %I', index.name, index.new_name);
  END LOOP;
END
$$;

-- ATTACH clones row triggers, with their state, but no statement triggers: a partition gets those of its table that act
-- on rows which are inserted into it directly.
CREATE FUNCTION sagapost.add_statement_triggers(parent text, partition text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF parent = 'events' THEN
    EXECUTE format(
      'CREATE TRIGGER event_enqueue_routing AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS stored
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER event_enqueue_routing', partition);
  ELSIF parent = 'webhook_delivery_sagas' THEN
    EXECUTE format(
      'CREATE TRIGGER delivery_fits_subscription AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_deliveries()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER delivery_fits_subscription', partition);
  ELSIF parent = 'webhook_delivery_jobs' THEN
    EXECUTE format(
      'CREATE TRIGGER job_enqueue_results AFTER UPDATE ON sagapost.%I REFERENCING NEW TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_results()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_enqueue_results', partition);
    EXECUTE format(
      'CREATE TRIGGER job_fits_delivery AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_jobs()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_fits_delivery', partition);
  END IF;
END
$$;

-- One range of one table. CREATE … PARTITION OF takes ACCESS EXCLUSIVE on the parent: it would wait for every open
-- publishing transaction, with all publishing behind it. CREATE … LIKE and ATTACH take SHARE UPDATE EXCLUSIVE, which
-- blocks no reader or writer. There is no DEFAULT partition: it forbids DETACH … CONCURRENTLY.
CREATE FUNCTION sagapost.make_partition(parent text, from_id bigint, to_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  suffix text := '_from_' || from_id;
  partition text := parent || suffix;
  -- Deliveries and jobs are updated a few times and then never again. With room for all their versions on a page, no
  -- update writes the row to another one, which would cost a WAL record for its lock and leave a hole.
  options text := CASE WHEN parent LIKE 'webhook\_delivery\_%' THEN
    ' WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)' ELSE '' END;
BEGIN
  EXECUTE format('CREATE TABLE sagapost.%I (LIKE sagapost.%I INCLUDING ALL)%s', partition, parent, options);
  EXECUTE format(
    'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', partition);
  PERFORM sagapost.add_statement_triggers(parent, partition);
  EXECUTE format('ALTER TABLE sagapost.%I ATTACH PARTITION sagapost.%I FOR VALUES FROM (%s) TO (%s)',
    parent, partition, from_id, to_id);
  PERFORM sagapost.name_partition_indexes();
END
$$;

-- Makes what is missing, for all four tables or none, and returns the headroom afterwards. Without arguments, and doing
-- nothing when there is enough, so that any part may call it at any time. One call at a time makes partitions; another
-- one returns at once.
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
  -- Each range takes some sixty locks until the end of the transaction; the next call makes what is still missing.
  made_max constant integer := 5;
  made integer := 0;
BEGIN
  -- The row is the lock: a login without rights on it cannot hold it, as it could an advisory lock.
  SELECT events_per_partition, events_per_partition * partitions_ahead INTO width, wanted
  FROM sagapost.partition_settings FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN (sagapost.partition_headroom()).headroom;
  END IF;
  SELECT last_value + is_called::int INTO next_id FROM sagapost.events_id_seq;

  -- A table lacks a range that the others have and that rows may still fall into: it was dropped by hand.
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
    -- If the ids have run past the partitions (a restored backup, a loop that stopped), ranges that end before the
    -- next id are not made: no new row can fall into them. A gap before a later partition is filled up to it.
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

-- Reading them --------------------------------------------------------------------------------------------------------

-- A statement over all partitions locks each of them and each of its indexes: some 2,400 locks with 301 ranges. Such
-- statements run for one group of at most `size` ranges after another, newest first. The newest group has no end and
-- the oldest no beginning, so that together they hold every event, whatever partitions come or go meanwhile.
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

-- The event of a row that is known by its id alone, found by the table's primary key, group by group from the newest;
-- null if there is none. A subtransaction that ends with an error releases its locks, and variables keep what it found.
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

-- In which ranges the parts look for work. The fresh range holds the newest events; of the older ranges, the caller
-- names a few at a time (`looked_at`) and gets those with open work: one call over 301 ranges took 113 ms. `borders`
-- has where each range begins and where the last one ends. docs/internals/hot-statements.md explains `planned_to`.
CREATE FUNCTION sagapost.work_window(
  looked_at bigint[], OUT borders bigint[], OUT fresh_from bigint, OUT fresh_to bigint, OUT planned_to bigint,
  OUT open_ranges bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest bigint;
  near bigint;
  previous_from bigint;
  from_id bigint;
  has_open_work boolean;
BEGIN
  SELECT last_value INTO newest FROM sagapost.events_id_seq;
  SELECT array_agg(border ORDER BY border) INTO borders
  FROM (
    SELECT substr(partition.relname, length('events_from_') + 1)::bigint AS border
    FROM pg_inherits JOIN pg_class AS partition ON partition.oid = inhrelid
    WHERE inhparent = 'sagapost.events'::regclass AND NOT inhdetachpending
  ) AS ranges;
  borders := borders || (
    SELECT to_id FROM sagapost.partitions
    WHERE table_name = 'events' AND partition_name = 'events_from_' || borders[cardinality(borders)]);

  SELECT max(border) INTO fresh_from FROM unnest(borders[:cardinality(borders) - 1]) AS border WHERE border <= newest;
  SELECT max(border) INTO previous_from FROM unnest(borders) AS border WHERE border < fresh_from;
  SELECT min(border) INTO fresh_to FROM unnest(borders) AS border WHERE border > fresh_from;
  near := greatest((fresh_to - fresh_from) / 10, 100000);
  IF fresh_to - newest <= near THEN
    SELECT coalesce(min(border), fresh_to) INTO fresh_to FROM unnest(borders) AS border WHERE border > fresh_to;
  END IF;
  IF newest - fresh_from < near THEN
    fresh_from := coalesce(previous_from, fresh_from);
  END IF;

  -- Three index probes for each range, and for the one before the freshest.
  open_ranges := '{}';
  FOR from_id IN
    SELECT DISTINCT border FROM unnest(borders[:cardinality(borders) - 1]) AS border
    WHERE border < fresh_from AND (border = ANY (looked_at) OR border = previous_from)
      AND to_regclass('sagapost.webhook_delivery_sagas_from_' || border) IS NOT NULL
      AND to_regclass('sagapost.webhook_delivery_jobs_from_' || border) IS NOT NULL
    ORDER BY border
  LOOP
    EXECUTE format($probe$
      SELECT EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'Pending')
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status IN ('Pending', 'Leased'))
      $probe$, 'webhook_delivery_sagas_from_' || from_id, 'webhook_delivery_jobs_from_' || from_id)
    INTO has_open_work;
    IF has_open_work AND from_id = previous_from THEN
      fresh_from := previous_from;
    ELSIF has_open_work THEN
      open_ranges := open_ranges || from_id;
    END IF;
  END LOOP;

  -- Plans are made for at least two partitions: for a single one, PostgreSQL 18 ignores enable_seqscan = off, and a
  -- plan that was made while it was empty stays while it fills.
  planned_to := fresh_to;
  IF fresh_to = (SELECT min(border) FROM unnest(borders) AS border WHERE border > fresh_from) THEN
    SELECT coalesce(min(border), fresh_to) INTO planned_to FROM unnest(borders) AS border WHERE border > fresh_to;
  END IF;
END
$$;
