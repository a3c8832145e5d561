-- [G10] Pattern 5 was led to idx_step_state wherever most failed steps have attempts left: PostgreSQL takes the rows of an
-- index on one column to lie closer together than those of one on two. With two as well, the index that holds just the
-- steps to retry is the cheaper one for them, whatever the proportions of states. Neither is larger or written more often.
DROP INDEX sagapost.idx_step_state;
CREATE INDEX idx_step_state ON sagapost.saga_steps (state, attempts) WHERE state IN (0, 1, 3, 4, 5, 6);

-- Pattern 1 was led to idx_saga_created_at where many sagas are unfinished. As 0007 says of others: it holds all rows, and
-- is for queries that bound created_at ('-infinity' will do) alone.
DROP INDEX sagapost.idx_saga_created_at;
CREATE INDEX idx_saga_created_at ON sagapost.saga_instances (created_at) WHERE created_at IS NOT NULL;

-- [G15] How long a partition of saga_events lasts: the period that was chosen. Parts that make partitions ahead name none.
ALTER TABLE sagapost.partition_settings
  ADD COLUMN saga_events_every interval NOT NULL DEFAULT '1 month',
  ADD CONSTRAINT partition_settings_saga_events_range CHECK (saga_events_every >= interval '1 hour');

-- The first partition that was made ahead has the period that was chosen; later ones may have become months.
UPDATE sagapost.partition_settings SET saga_events_every = chosen.every
FROM (
  SELECT CASE WHEN lasts < interval '28 days' THEN lasts
              ELSE make_interval(months => round(extract(epoch FROM lasts) / 86400 / 30.44)::int) END AS every
  FROM (SELECT to_time - from_time AS lasts FROM sagapost.saga_event_partitions
        WHERE from_time > '-infinity' ORDER BY from_time LIMIT 1) AS first
) AS chosen;

-- As in 0019, and keeps the period: one that is named is the period from then on, null is the one that was named last.
CREATE OR REPLACE FUNCTION sagapost.ensure_saga_event_partitions(every interval DEFAULT NULL, ahead integer DEFAULT 3)
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
  -- One at a time; who comes second finds them made.
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

COMMENT ON COLUMN sagapost.partition_settings.saga_events_every IS
  'How long a partition of saga_events lasts; set by partition_saga_events and ensure_saga_event_partitions';
