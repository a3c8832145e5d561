-- Which event ids the parts look at. Hot statements meet only the partitions with fresh work: the one that new
-- events go into, the one before it and the one behind it. Work that was left in older ones (a retry that waits,
-- a requeue) is found from `open_from` on, by a slower sweep.
CREATE FUNCTION sagapost.work_window(OUT open_from bigint, OUT fresh_from bigint, OUT fresh_to bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest bigint;
  range record;
  has_open_work boolean;
BEGIN
  SELECT last_value INTO newest FROM sagapost.events_id_seq;

  SELECT coalesce(max(from_id) FILTER (WHERE from_id < current_from), current_from),
         coalesce(min(to_id) FILTER (WHERE to_id > current_to), current_to)
  INTO fresh_from, fresh_to
  FROM sagapost.partitions, LATERAL (
    SELECT from_id AS current_from, to_id AS current_to FROM sagapost.partitions
    WHERE table_name = 'events' AND from_id <= newest ORDER BY from_id DESC LIMIT 1
  ) AS holding_newest
  WHERE table_name = 'events'
  GROUP BY current_from, current_to;

  -- Four index probes for each older partition, oldest first.
  FOR range IN
    SELECT from_id FROM sagapost.partitions
    WHERE table_name = 'webhook_delivery_sagas' AND from_id < fresh_from ORDER BY from_id
  LOOP
    EXECUTE format($probe$
      SELECT EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'Pending')
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status IN ('Pending', 'Leased'))
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status IN ('Completed', 'Failed') AND applied_at IS NULL)
      $probe$, 'webhook_delivery_sagas_from_' || range.from_id, 'webhook_delivery_jobs_from_' || range.from_id)
    INTO has_open_work;
    IF has_open_work THEN
      open_from := range.from_id;
      RETURN;
    END IF;
  END LOOP;
  open_from := fresh_from;
END
$$;

REVOKE ALL ON FUNCTION sagapost.work_window() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.work_window() TO saga_orchestrator, job_worker;
