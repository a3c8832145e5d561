-- [O3] The bounds of partitions by time, whatever DateStyle and TimeZone the caller has. Before PostgreSQL 18 a time that
-- was written as "18/11/2026 00:00:00 IST" in India is read as Israel's: a partition would end hours too late or early.
CREATE FUNCTION sagapost.saga_event_bounds(partition oid) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
RETURN (SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = partition);

CREATE OR REPLACE VIEW sagapost.saga_event_partitions AS
SELECT partition.relname AS partition_name,
       coalesce((regexp_match(bounds.text, 'FROM \(''([^'']+)''\)'))[1], '-infinity')::timestamptz AS from_time,
       (regexp_match(bounds.text, 'TO \(''([^'']+)''\)'))[1]::timestamptz AS to_time
FROM pg_inherits
JOIN pg_class AS partition ON partition.oid = inhrelid
-- By its name: the table that has it now becomes the first partition.
JOIN pg_class AS parent ON parent.oid = inhparent
CROSS JOIN LATERAL (SELECT sagapost.saga_event_bounds(partition.oid) AS text) AS bounds
WHERE parent.relname = 'saga_events' AND parent.relnamespace = 'sagapost'::regnamespace
ORDER BY from_time;

REVOKE EXECUTE ON FUNCTION sagapost.saga_event_bounds(oid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.saga_event_bounds(oid) TO saga_readonly_role, schema_maintainer;
