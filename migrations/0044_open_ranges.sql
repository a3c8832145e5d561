-- What a look for work costs follows the partitions with open work, and not all there are. The caller names the older ranges
-- that it wants to know about, a few at a time (database/work-window.ts), and no call touches all of them: with 301 ranges
-- a look took 113 ms.
DROP FUNCTION sagapost.work_window();

-- Where the parts look for fresh work, as in 0028, and which of the ranges that begin at `looked_at` have open work. The
-- ranges are read off the partitions' names; `borders` has where each begins, and where the last one ends.
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

  -- Plans are made for at least two partitions: for a single one PostgreSQL 18 forgets that reading all of it is switched
  -- off (database/role-pool.ts), and a plan that was made while it was empty stays while it fills.
  planned_to := fresh_to;
  IF fresh_to = (SELECT min(border) FROM unnest(borders) AS border WHERE border > fresh_from) THEN
    SELECT coalesce(min(border), fresh_to) INTO planned_to FROM unnest(borders) AS border WHERE border > fresh_to;
  END IF;
END
$$;
REVOKE ALL ON FUNCTION sagapost.work_window(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.work_window(bigint[]) TO saga_orchestrator, job_worker;
