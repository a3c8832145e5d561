-- Whoever passes news on, or clears away, waits for nobody long: one row that somebody holds would keep the news, the
-- claims and the clean-up of all the others waiting.

-- As in 0022, but a saga whose row is locked for longer than a write takes is passed over, and what there is to tell it is
-- noted again, for the next look. So one transaction that stays open holds up nobody else, and two that wait for each
-- other's rows give up before that is a deadlock. One that was woken and not claimed since needs no telling. Returns how
-- much was passed on.
CREATE OR REPLACE FUNCTION sagapost.wake_sagas(batch integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET lock_timeout = '100ms'
AS $$
DECLARE
  topics text[];
  waiting text[];
  heard text[];
  passed integer;
  kept integer := 0;
BEGIN
  WITH taken AS (
    DELETE FROM sagapost.saga_wakeups WHERE id = ANY (ARRAY(
      SELECT id FROM sagapost.saga_wakeups ORDER BY id LIMIT batch FOR UPDATE SKIP LOCKED))
    RETURNING topic
  )
  SELECT array_agg(DISTINCT topic), count(*) INTO topics, passed FROM taken;
  IF passed = 0 THEN
    RETURN 0;
  END IF;

  SELECT array_agg(found.id), array_agg(found.topic) INTO waiting, heard
  FROM (
    SELECT step.saga_id AS id, news.topic
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_steps AS step ON step.waits_for = news.topic AND step.state IN (1, 4)
    UNION ALL
    SELECT child.id, news.topic
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_instances AS child ON child.parent_id = substr(news.topic, 6)
    WHERE starts_with(news.topic, 'saga:')
  ) AS found;
  IF waiting IS NULL THEN
    RETURN passed;
  END IF;

  UPDATE sagapost.saga_instances AS saga SET
    woken = true,
    wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
  WHERE saga.id = ANY (ARRAY(
    SELECT free.id FROM sagapost.saga_instances AS free
    WHERE free.id = ANY (waiting) AND free.state IN (0, 1, 2, 4) AND NOT free.woken
    FOR UPDATE SKIP LOCKED));

  -- Those that are left were locked: most of them by a write, for a moment.
  BEGIN
    UPDATE sagapost.saga_instances AS saga SET
      woken = true,
      wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
    WHERE saga.id = ANY (waiting) AND saga.state IN (0, 1, 2, 4) AND NOT saga.woken;
  EXCEPTION WHEN lock_not_available THEN
    INSERT INTO sagapost.saga_wakeups (topic)
    SELECT DISTINCT news.topic FROM unnest(waiting, heard) AS news (id, topic)
    JOIN sagapost.saga_instances AS saga ON saga.id = news.id
    WHERE saga.state IN (0, 1, 2, 4) AND NOT saga.woken;
    GET DIAGNOSTICS kept = ROW_COUNT;
  END;
  RETURN passed - kept;
END
$$;

-- Topics are many, also where nearly all that wait at this moment wait for the same: the planner, who sees only that, would
-- then read all of them for any news.
ALTER TABLE sagapost.saga_steps ALTER COLUMN waits_for SET (n_distinct = -1);

-- Signals whose time is over are removed by rows that nobody holds: that needs FOR UPDATE, and that the right to update.
GRANT UPDATE (expires_at) ON sagapost.saga_signals TO saga_app_role;
