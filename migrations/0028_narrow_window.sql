-- Where the parts look for fresh work: in the partition that new events go into; in the one before while that has open work,
-- or may get some; in the one behind once the newest event is near it. Each partition more is a look more for each row, and
-- an empty one is not free. Open work of the last partition stays in the window, however old it is: what is older comes after
-- all that is fresh. `near` is more than is published between two looks at the window (database/keep-work-window.ts); whoever
-- leaps further, or commits that late, is seen some seconds later.
CREATE OR REPLACE FUNCTION sagapost.work_window(OUT open_from bigint, OUT fresh_from bigint, OUT fresh_to bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest bigint;
  near bigint;
  previous_from bigint;
  range record;
  has_open_work boolean;
BEGIN
  SELECT last_value INTO newest FROM sagapost.events_id_seq;

  SELECT from_id, to_id, greatest((to_id - from_id) / 10, 100000) INTO fresh_from, fresh_to, near
  FROM sagapost.partitions
  WHERE table_name = 'events' AND from_id <= newest ORDER BY from_id DESC LIMIT 1;
  SELECT max(from_id) INTO previous_from FROM sagapost.partitions
  WHERE table_name = 'events' AND from_id < fresh_from;
  IF fresh_to - newest <= near THEN
    SELECT coalesce(min(to_id), fresh_to) INTO fresh_to FROM sagapost.partitions
    WHERE table_name = 'events' AND to_id > fresh_to;
  END IF;
  IF newest - fresh_from < near THEN
    fresh_from := coalesce(previous_from, fresh_from);
  END IF;

  -- Three index probes for each older partition, from the oldest to the first with open work, and for the last one.
  FOR range IN
    SELECT from_id FROM sagapost.partitions
    WHERE table_name = 'webhook_delivery_sagas' AND from_id < fresh_from ORDER BY from_id
  LOOP
    CONTINUE WHEN open_from IS NOT NULL AND range.from_id <> previous_from;
    EXECUTE format($probe$
      SELECT EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'Pending')
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status IN ('Pending', 'Leased'))
      $probe$, 'webhook_delivery_sagas_from_' || range.from_id, 'webhook_delivery_jobs_from_' || range.from_id)
    INTO has_open_work;
    IF has_open_work THEN
      open_from := coalesce(open_from, range.from_id);
      IF range.from_id = previous_from THEN
        fresh_from := previous_from;
      END IF;
    END IF;
  END LOOP;
  open_from := coalesce(open_from, fresh_from);
END
$$;
