-- Where the parts look for fresh work: in the partition that new events go into, and in its neighbour while the newest event
-- is near the border. Each partition more is a look more for each row, and an empty one is not free. Whoever commits late
-- into a partition that has left the window is found as older work, when the window is read next.
CREATE OR REPLACE FUNCTION sagapost.work_window(OUT open_from bigint, OUT fresh_from bigint, OUT fresh_to bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest bigint;
  near bigint;
  range record;
  has_open_work boolean;
BEGIN
  SELECT last_value INTO newest FROM sagapost.events_id_seq;

  SELECT from_id, to_id, (to_id - from_id) / 10 INTO fresh_from, fresh_to, near FROM sagapost.partitions
  WHERE table_name = 'events' AND from_id <= newest ORDER BY from_id DESC LIMIT 1;
  IF newest - fresh_from < near THEN
    SELECT coalesce(max(from_id), fresh_from) INTO fresh_from FROM sagapost.partitions
    WHERE table_name = 'events' AND from_id < fresh_from;
  END IF;
  IF fresh_to - newest <= near THEN
    SELECT coalesce(min(to_id), fresh_to) INTO fresh_to FROM sagapost.partitions
    WHERE table_name = 'events' AND to_id > fresh_to;
  END IF;

  -- Three index probes for each older partition, oldest first.
  FOR range IN
    SELECT from_id FROM sagapost.partitions
    WHERE table_name = 'webhook_delivery_sagas' AND from_id < fresh_from ORDER BY from_id
  LOOP
    EXECUTE format($probe$
      SELECT EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'Pending')
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status IN ('Pending', 'Leased'))
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
