-- Statements over all partitions lock each of them and each of its indexes: with 301 ranges some 2,400 locks. They are split
-- into groups of partitions (database/read-ranges.ts), and no transaction locks more than one group.

-- Groups of at most `size` ranges, newest first. The newest has no end and the oldest no beginning, so that together they
-- hold every event, also when a partition was made or removed since. Names tell the ranges, as in 0044.
CREATE FUNCTION sagapost.partition_groups(size integer DEFAULT 16) RETURNS TABLE (from_id bigint, to_id bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  WITH borders AS (
    SELECT DISTINCT substring(partition.relname FROM '_from_(\d+)$')::bigint AS border
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
REVOKE ALL ON FUNCTION sagapost.partition_groups(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.partition_groups(integer) TO saga_readonly_role;
