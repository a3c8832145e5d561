-- What a review of sagas that wait found.

-- Steps --------------------------------------------------------------------------------------------------------
--
-- As in 0017, and one move more: an operator gives up what a step waits for, and the saga goes on without it.
DROP TRIGGER saga_step_moves_legally ON sagapost.saga_steps;
CREATE TRIGGER saga_step_moves_legally
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state NOT IN (5, 6) AND NOT (
    (NEW.attempts = OLD.attempts AND (
      NEW.state = OLD.state
      OR (OLD.state = 0 AND NEW.state = 6)
      OR (OLD.state = 1 AND NEW.state IN (2, 3, 6))
      OR (OLD.state = 2 AND NEW.state = 4)
      OR (OLD.state = 3 AND NEW.state IN (4, 6))
      OR (OLD.state = 4 AND NEW.state IN (3, 5))))
    OR (NEW.attempts = OLD.attempts + 1 AND OLD.state IN (0, 3) AND NEW.state = 1)
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a step');
ALTER TABLE sagapost.saga_steps ENABLE ALWAYS TRIGGER saga_step_moves_legally;

COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'Failed: an undo failed for good. Running: a step waits for what does not come by itself, a dead-lettered delivery, say; its error says why';

-- Events that are waited for -----------------------------------------------------------------------------------

-- As in 0024, but one that is dead-lettered is told at once, whatever becomes of the others.
CREATE OR REPLACE FUNCTION sagapost.event_deliveries(
  wanted bigint, OUT standing text, OUT completed bigint, OUT dead bigint, OUT total bigint,
  OUT changed_at timestamptz, OUT due_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  busy bigint;
  waiting bigint;
BEGIN
  SELECT count(*), count(*) FILTER (WHERE delivery.status = 'Completed'),
         count(*) FILTER (WHERE delivery.status = 'DeadLettered' AND NOT EXISTS (
           SELECT FROM sagapost.dead_letters AS letter
           JOIN sagapost.webhook_delivery_sagas AS heir ON heir.requeued_from = letter.id AND heir.event_id = wanted
           WHERE letter.saga_id = delivery.id AND letter.event_id = wanted)),
         count(*) FILTER (WHERE delivery.status IN ('Pending', 'InProgress')),
         count(*) FILTER (WHERE delivery.status = 'PendingRetry'),
         max(delivery.updated_at), min(delivery.next_attempt_at) FILTER (WHERE delivery.status = 'PendingRetry')
  INTO total, completed, dead, busy, waiting, changed_at, due_at
  FROM sagapost.webhook_delivery_sagas AS delivery WHERE delivery.event_id = wanted;
  IF busy > 0 THEN
    due_at := NULL;
  END IF;
  standing := CASE
    WHEN dead > 0 THEN 'dead'
    WHEN busy + waiting > 0 THEN 'open'
    WHEN total > 0 THEN 'completed'
    WHEN EXISTS (SELECT FROM sagapost.event_routing_queue WHERE event_id = wanted) THEN 'open'
    -- A partition goes with its events and their deliveries; nothing is known of those any more.
    WHEN NOT EXISTS (SELECT FROM sagapost.events WHERE id = wanted) THEN 'gone'
    ELSE 'completed' END;
END
$$;

-- As in 0024, in two statements. One that locks the newest version of a row judges all else by what it saw before: a step
-- that has begun to wait again meanwhile would be taken for one that does not, and never be looked at again. The second
-- statement sees what is committed by the time the rows are its own.
CREATE OR REPLACE FUNCTION sagapost.note_deliveries(batch integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
  sagas text[];
  steps integer[];
BEGIN
  SELECT array_agg(due.saga_id), array_agg(due.step_index) INTO sagas, steps
  FROM (
    SELECT saga_id, step_index FROM sagapost.saga_awaited_events
    WHERE look_at <= sagapost.now()
    ORDER BY look_at LIMIT batch
    FOR UPDATE SKIP LOCKED
  ) AS due;
  IF sagas IS NULL THEN
    RETURN 0;
  END IF;

  WITH due AS MATERIALIZED (
    SELECT awaited.saga_id, awaited.step_index, awaited.event_id, awaited.told, awaited.stored_at,
           format('delivery:%s:%s', awaited.saga_id, awaited.step_index) AS topic
    FROM unnest(sagas, steps) AS mine (saga_id, step_index)
    JOIN sagapost.saga_awaited_events AS awaited
      ON awaited.saga_id = mine.saga_id AND awaited.step_index = mine.step_index
  ), seen AS MATERIALIZED (
    SELECT due.*, delivered.standing, delivered.due_at,
           format('%s %s %s', delivered.standing, delivered.total, delivered.dead) AS news,
           sagapost.now()
             - greatest(due.stored_at, delivered.changed_at, least(delivered.due_at, sagapost.now())) AS quiet,
           EXISTS (
             SELECT FROM sagapost.saga_steps AS step WHERE step.waits_for = due.topic AND step.state IN (1, 4)) AS wanted
    FROM due CROSS JOIN LATERAL sagapost.event_deliveries(due.event_id) AS delivered
  ), noted AS (
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT topic FROM seen
    -- That an event was routed is no news: only an end is, or that one is undone by a requeue.
    WHERE wanted AND news <> told AND NOT (standing = 'open' AND starts_with(told, 'open'))
  )
  UPDATE sagapost.saga_awaited_events AS awaited SET
    told = seen.news,
    look_at = CASE
      WHEN NOT seen.wanted OR seen.standing IN ('completed', 'gone') THEN NULL
      ELSE greatest(seen.due_at, sagapost.now() + greatest(least(seen.quiet / 4, '1 minute'), '100 ms')) END
  FROM seen WHERE awaited.saga_id = seen.saga_id AND awaited.step_index = seen.step_index;
  RETURN cardinality(sagas);
END
$$;
