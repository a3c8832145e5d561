-- Partitions that are made later are read and made as the first ones are.

-- The planner computes the checks of each partition that it cannot leave out by its bounds, with the rights of the role
-- that reads. Those of the first partitions are NOT VALID (0034), and not looked at; those that are made since are.
GRANT EXECUTE ON FUNCTION sagapost.payload_bytes_max() TO router_worker, saga_orchestrator, job_worker;

-- As in 0006. The range is read off the partition's name, and not off the bounds of all partitions: with 300 ranges a
-- partition took 250 ms to make.
CREATE OR REPLACE FUNCTION sagapost.name_partition_indexes() RETURNS void
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
