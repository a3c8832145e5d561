-- Upkeep of the sagas' tables: saga_events by time, for heavy use [G15], and what operators look at [G16].
-- docs/reference/general-sagas-schema.md describes the use of both.

-- The bounds of a partition by time, whatever DateStyle and TimeZone the session has: before PostgreSQL 18, India's
-- time ("18/11/2026 00:00:00 IST") was read as Israel's, and a partition would have ended hours too late or too early.
CREATE FUNCTION sagapost.saga_event_bounds(partition oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
RETURN (SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = partition);

-- The partitions as the catalogue has them, oldest first; the first one holds everything from before it was made. The
-- table is found by its name, because partition_saga_events() renames the present one.
CREATE VIEW sagapost.saga_event_partitions AS
SELECT partition.relname AS partition_name,
       coalesce((regexp_match(bounds.text, 'FROM \(''([^'']+)''\)'))[1], '-infinity')::timestamptz AS from_time,
       (regexp_match(bounds.text, 'TO \(''([^'']+)''\)'))[1]::timestamptz AS to_time
FROM pg_inherits
JOIN pg_class AS partition ON partition.oid = inhrelid
JOIN pg_class AS parent ON parent.oid = inhparent
CROSS JOIN LATERAL (SELECT sagapost.saga_event_bounds(partition.oid) AS text) AS bounds
WHERE parent.relname = 'saga_events' AND parent.relnamespace = 'sagapost'::regnamespace
ORDER BY from_time;
COMMENT ON VIEW sagapost.saga_event_partitions IS 'Partitions of saga_events, if partition_saga_events() was called';

-- ATTACH clones row triggers from the table, but not the one on TRUNCATE.
CREATE FUNCTION sagapost.attach_saga_event_partition(partition text, from_time text, to_time timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  index record;
BEGIN
  EXECUTE format(
    'CREATE TRIGGER saga_events_truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse_saga_event_change()', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER saga_events_truncate_is_refused', partition);
  EXECUTE format('ALTER TABLE sagapost.saga_events ATTACH PARTITION sagapost.%I FOR VALUES FROM (%s) TO (%L)',
    partition, from_time, to_time);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER saga_events_append_only', partition);
  FOR index IN
    SELECT child.relname AS name, parent.relname || replace(partition, 'saga_events', '') AS new_name
    FROM pg_index
    JOIN pg_class AS child ON child.oid = indexrelid
    JOIN pg_inherits ON inhrelid = child.oid
    JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE indrelid = format('sagapost.%I', partition)::regclass
  LOOP
    IF index.name <> index.new_name THEN
      EXECUTE format('ALTER INDEX sagapost.%I RENAME TO %I', index.name, index.new_name);
    END IF;
  END LOOP;
END
$$;

-- Makes the partitions that are missing up to `ahead` periods from now, and returns how many; nothing while the table
-- is not partitioned. A period that is given is the period from then on; null is the one given last. Writers wait only
-- for ATTACH, and never for more than two seconds.
CREATE FUNCTION sagapost.ensure_saga_event_partitions(every interval DEFAULT NULL, ahead integer DEFAULT 3)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
SET timezone = 'UTC'
AS $$
DECLARE
  period interval;
  last_end timestamptz;
  partition text;
  made integer := 0;
BEGIN
  IF every < interval '1 hour' OR ahead NOT BETWEEN 1 AND 100 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a partition lasts an hour at least, and 1 to 100 are made ahead';
  END IF;
  IF NOT EXISTS (SELECT FROM sagapost.saga_event_partitions) THEN
    RETURN 0;
  END IF;
  -- One call at a time; a second one finds the partitions made.
  PERFORM pg_advisory_xact_lock(hashtextextended('sagapost.saga_event_partitions', 0));
  IF every IS NOT NULL THEN
    UPDATE sagapost.partition_settings SET saga_events_every = every WHERE saga_events_every IS DISTINCT FROM every;
  END IF;
  SELECT saga_events_every INTO period FROM sagapost.partition_settings;
  LOOP
    SELECT max(to_time) INTO last_end FROM sagapost.saga_event_partitions;
    EXIT WHEN last_end > sagapost.now() + ahead * period;
    partition := 'saga_events_from_' || to_char(last_end, 'YYYYMMDD"t"HH24MI');
    EXECUTE format('CREATE TABLE sagapost.%I (LIKE sagapost.saga_events INCLUDING ALL)', partition);
    PERFORM sagapost.attach_saga_event_partition(partition, quote_literal(last_end), last_end + period);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- For the owner of the schema, and off until it is called: turns saga_events into a table partitioned by time, with
-- everything that is there as its first partition. Takes as long as a unique index over it, without any writer. A
-- second call does nothing.
CREATE FUNCTION sagapost.partition_saga_events(every interval DEFAULT '1 month') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
  first_name constant text := 'saga_events_before';
  first_end timestamptz;
  index record;
  grants text[];
  statement text;
BEGIN
  LOCK TABLE sagapost.saga_events IN ACCESS EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM sagapost.saga_event_partitions) THEN
    RETURN;
  END IF;
  -- The next full hour.
  SELECT date_trunc('hour', greatest(sagapost.now(), max("timestamp"))) + interval '1 hour' INTO first_end
  FROM sagapost.saga_events;
  SELECT array_agg(format('GRANT %s ON sagapost.saga_events TO %I', privilege_type, pg_get_userbyid(grantee)))
  INTO grants FROM pg_class CROSS JOIN LATERAL aclexplode(relacl)
  WHERE oid = 'sagapost.saga_events'::regclass AND grantee <> relowner AND grantee <> 0;

  ALTER TABLE sagapost.saga_events RENAME TO saga_events_before;
  EXECUTE format('REVOKE ALL ON sagapost.%I FROM saga_app_role, saga_readonly_role', first_name);
  DROP TRIGGER saga_events_append_only ON sagapost.saga_events_before;
  DROP TRIGGER saga_events_truncate_is_refused ON sagapost.saga_events_before;
  ALTER TABLE sagapost.saga_events_before DROP CONSTRAINT saga_events_pkey;
  CREATE TABLE sagapost.saga_events (
    LIKE sagapost.saga_events_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS
  ) PARTITION BY RANGE ("timestamp");
  ALTER SEQUENCE sagapost.saga_events_id_seq OWNED BY sagapost.saga_events.id;
  FOR index IN
    SELECT relname AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = 'sagapost.saga_events_before'::regclass
  LOOP
    EXECUTE format('ALTER INDEX sagapost.%I RENAME TO %I', index.name, index.name || '_before');
    EXECUTE replace(index.definition, ' ON sagapost.saga_events_before ', ' ON sagapost.saga_events ');
  END LOOP;
  -- A unique key of a partitioned table includes the column of its partitions; the sequence keeps id unique.
  ALTER TABLE sagapost.saga_events
    ADD CONSTRAINT saga_events_pkey PRIMARY KEY (id, "timestamp"),
    ADD CONSTRAINT fk_saga_events_saga
      FOREIGN KEY (saga_id) REFERENCES sagapost.saga_instances (id) ON DELETE CASCADE;
  CREATE TRIGGER saga_events_append_only BEFORE UPDATE OR DELETE ON sagapost.saga_events
    FOR EACH ROW EXECUTE FUNCTION sagapost.refuse_saga_event_change();
  CREATE TRIGGER saga_events_truncate_is_refused BEFORE TRUNCATE ON sagapost.saga_events
    FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse_saga_event_change();
  ALTER TABLE sagapost.saga_events ENABLE ALWAYS TRIGGER saga_events_append_only,
    ENABLE ALWAYS TRIGGER saga_events_truncate_is_refused;
  FOREACH statement IN ARRAY coalesce(grants, '{}') LOOP
    EXECUTE statement;
  END LOOP;
  EXECUTE format('COMMENT ON TABLE sagapost.saga_events IS %L',
    'Audit trail of general sagas, partitioned by time: append-only, removed only together with its saga');
  PERFORM sagapost.attach_saga_event_partition(first_name, 'MINVALUE', first_end);
  PERFORM sagapost.ensure_saga_event_partitions(every);
END
$$;

-- Drops partitions that end before the moment and hold the history of no saga any more; returns how many. A cleanup of
-- sagas before it empties them; a saga that is still there keeps its history. Partitions made ahead always stay: they
-- are empty, but without them every write of a saga would fail.
CREATE FUNCTION sagapost.drop_saga_event_partitions(older_than timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s'
AS $$
DECLARE
  partition record;
  needed boolean;
  dropped integer := 0;
BEGIN
  FOR partition IN
    SELECT partition_name AS name FROM sagapost.saga_event_partitions WHERE to_time <= least(older_than, sagapost.now())
  LOOP
    EXECUTE format(
      'SELECT EXISTS (
         SELECT FROM sagapost.%I AS event JOIN sagapost.saga_instances AS saga ON saga.id = event.saga_id)',
      partition.name) INTO needed;
    IF NOT needed THEN
      EXECUTE format('ALTER TABLE sagapost.saga_events DETACH PARTITION sagapost.%I', partition.name);
      EXECUTE format('DROP TABLE sagapost.%I', partition.name);
      dropped := dropped + 1;
    END IF;
  END LOOP;
  RETURN dropped;
END
$$;

-- What operators see --------------------------------------------------------------------------------------------------

-- With the rights of the reader; the statistics that they show are open to all roles.

CREATE VIEW sagapost.saga_table_sizes WITH (security_invoker = true) AS
SELECT class.relname AS table_name,
       pg_table_size(class.oid) AS table_bytes,
       pg_indexes_size(class.oid) AS index_bytes,
       pg_total_relation_size(class.oid) AS total_bytes,
       greatest(class.reltuples, 0)::bigint AS rows_estimated,
       stat.n_dead_tup AS dead_rows,
       stat.last_autovacuum, stat.last_autoanalyze,
       stat.last_vacuum, stat.last_analyze
FROM pg_class AS class
LEFT JOIN pg_stat_all_tables AS stat ON stat.relid = class.oid
WHERE class.relnamespace = 'sagapost'::regnamespace AND class.relkind IN ('r', 'p') AND class.relname LIKE 'saga\_%'
ORDER BY total_bytes DESC;
COMMENT ON VIEW sagapost.saga_table_sizes IS 'Sizes of the tables of general sagas, the largest first';

-- Also the indexes that an interrupted REINDEX CONCURRENTLY left behind.
CREATE VIEW sagapost.saga_index_usage WITH (security_invoker = true) AS
SELECT stat.relname AS table_name, stat.indexrelname AS index_name,
       stat.idx_scan, stat.idx_tup_read, stat.idx_tup_fetch,
       pg_relation_size(class.oid) AS index_bytes,
       index.indisvalid AS is_valid
FROM pg_stat_all_indexes AS stat
JOIN pg_class AS class ON class.oid = stat.indexrelid
JOIN pg_index AS index ON index.indexrelid = stat.indexrelid
WHERE stat.schemaname = 'sagapost' AND stat.relname LIKE 'saga\_%'
ORDER BY stat.idx_scan, stat.indexrelname;
COMMENT ON VIEW sagapost.saga_index_usage IS 'How often each index of these tables was used, the least used first';

-- The slowest statements on these tables, from the extension pg_stat_statements, in whichever schema it is installed.
CREATE FUNCTION sagapost.saga_slow_queries(most integer DEFAULT 20)
RETURNS TABLE (query text, calls bigint, mean_ms double precision, total_ms double precision, rows_affected bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  installed_in text;
BEGIN
  SELECT nspname INTO installed_in
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_stat_statements';
  IF installed_in IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'the extension pg_stat_statements is not installed';
  END IF;
  RETURN QUERY EXECUTE format(
    'SELECT query, calls, mean_exec_time, total_exec_time, rows
     FROM %I.pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query ~ ''sagapost[.](saga_|start_sagas|write_saga|cleanup_expired)''
     ORDER BY mean_exec_time DESC LIMIT $1', installed_in) USING most;
END
$$;
