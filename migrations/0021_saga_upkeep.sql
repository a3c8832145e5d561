-- Indexes of general sagas that no other one stands in for [G4], and what operators see of their tables [G16].
-- docs/reference/general-sagas-schema.md has what each costs.

-- Indexes [G4] ---------------------------------------------------------------------------------------------
--
-- 0018 kept nine of them as BRIN. Six of these have a btree beside them that begins with the same column and answers the
-- same question: they stay. These three have none, and the order of the table, on which BRIN rests, goes with the first
-- cleanup: new rows fill the holes of the old ones, and every range then holds every time. With the three as btrees a
-- saga of three steps writes 17.4 kB of WAL instead of 16.2.

DROP INDEX sagapost.idx_saga_updated_at;
CREATE INDEX idx_saga_updated_at ON sagapost.saga_instances (updated_at);

DROP INDEX sagapost.idx_saga_started_at;
CREATE INDEX idx_saga_started_at ON sagapost.saga_instances (started_at) WHERE started_at IS NOT NULL;

DROP INDEX sagapost.idx_event_step_id;
CREATE INDEX idx_event_step_id ON sagapost.saga_events (step_id) WHERE step_id IS NOT NULL;

-- What BRIN has not summarised yet is read by every scan: autovacuum does so as soon as a range is full. Those of
-- saga_events are made anew, since an index of a partitioned table takes no such setting later.
ALTER INDEX sagapost.idx_saga_definition_id SET (autosummarize = on);
ALTER INDEX sagapost.idx_step_saga_id SET (autosummarize = on);
ALTER INDEX sagapost.idx_step_saga_state SET (autosummarize = on);

DROP INDEX sagapost.idx_event_saga_id, sagapost.idx_event_saga_type, sagapost.idx_saga_events_type;
CREATE INDEX idx_event_saga_id ON sagapost.saga_events USING brin (saga_id) WITH (autosummarize = on);
CREATE INDEX idx_event_saga_type ON sagapost.saga_events USING brin (saga_id, event_type) WITH (autosummarize = on);
CREATE INDEX idx_saga_events_type ON sagapost.saga_events USING brin (event_type) WITH (autosummarize = on);

-- Where saga_events is partitioned, the partitions' own are named as attach_saga_event_partition() names them.
DO $$
DECLARE
  index record;
BEGIN
  FOR index IN
    SELECT child.relname AS name, parent.relname || replace(partition.relname, 'saga_events', '') AS new_name
    FROM pg_inherits
    JOIN pg_class AS parent ON parent.oid = inhparent
    JOIN pg_class AS child ON child.oid = inhrelid
    JOIN pg_index ON indexrelid = child.oid
    JOIN pg_class AS partition ON partition.oid = indrelid
    WHERE parent.relnamespace = 'sagapost'::regnamespace AND parent.relkind = 'I' AND partition.relname LIKE 'saga\_events\_%'
  LOOP
    IF index.name <> index.new_name THEN
      EXECUTE format('ALTER INDEX sagapost.%I RENAME TO %I', index.name, index.new_name);
    END IF;
  END LOOP;
END
$$;

-- What operators see [G16] ---------------------------------------------------------------------------------
--
-- As in 0019, with the last vacuum by hand too, and with indexes that an interrupted REINDEX CONCURRENTLY left behind.

CREATE OR REPLACE VIEW sagapost.saga_table_sizes WITH (security_invoker = true) AS
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

CREATE OR REPLACE VIEW sagapost.saga_index_usage WITH (security_invoker = true) AS
SELECT stat.relname AS table_name, stat.indexrelname AS index_name,
       stat.idx_scan, stat.idx_tup_read, stat.idx_tup_fetch,
       pg_relation_size(class.oid) AS index_bytes,
       index.indisvalid AS is_valid
FROM pg_stat_all_indexes AS stat
JOIN pg_class AS class ON class.oid = stat.indexrelid
JOIN pg_index AS index ON index.indexrelid = stat.indexrelid
WHERE stat.schemaname = 'sagapost' AND stat.relname LIKE 'saga\_%'
ORDER BY stat.idx_scan, stat.indexrelname;

-- Partitions [G15] -----------------------------------------------------------------------------------------
--
-- As in 0019, but a moment that is yet to come takes none of the partitions that are made ahead: they are empty, and
-- without them every write of a saga would be refused.
CREATE OR REPLACE FUNCTION sagapost.drop_saga_event_partitions(older_than timestamptz) RETURNS integer
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
