-- Whoever passes news on, or clears away, waits for nobody long: one row that somebody holds would keep the news, the
-- claims and the clean-up of all the others waiting.

-- As in 0022, but a saga whose row is locked for longer than a write takes is passed over, and what there is to tell it is
-- noted again, for the next look. So one transaction that stays open holds up nobody else, and two that wait for each
-- other's rows give up before that is a deadlock. Returns how much was passed on.
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
  busy text[];
  kept integer := 0;
BEGIN
  WITH taken AS (
    DELETE FROM sagapost.saga_wakeups WHERE id = ANY (ARRAY(
      SELECT id FROM sagapost.saga_wakeups ORDER BY id LIMIT batch FOR UPDATE SKIP LOCKED))
    RETURNING topic
  )
  SELECT array_agg(topic) INTO topics FROM taken;
  IF topics IS NULL THEN
    RETURN 0;
  END IF;

  WITH waiting AS MATERIALIZED (
    SELECT step.saga_id AS id
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_steps AS step ON step.waits_for = news.topic AND step.state IN (1, 4)
    UNION
    SELECT child.id
    FROM unnest(topics) AS news (topic)
    JOIN sagapost.saga_instances AS child ON child.parent_id = substr(news.topic, 6)
    WHERE starts_with(news.topic, 'saga:')
  ), free AS MATERIALIZED (
    SELECT saga.id FROM waiting JOIN sagapost.saga_instances AS saga ON saga.id = waiting.id
    WHERE saga.state IN (0, 1, 2, 4)
    FOR UPDATE OF saga SKIP LOCKED
  ), woken AS (
    UPDATE sagapost.saga_instances AS saga SET
      woken = true,
      wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
    FROM free WHERE saga.id = free.id
  )
  SELECT array_agg(saga.id) INTO busy
  FROM waiting JOIN sagapost.saga_instances AS saga ON saga.id = waiting.id
  WHERE saga.state IN (0, 1, 2, 4) AND saga.id NOT IN (SELECT id FROM free);

  IF busy IS NOT NULL THEN
    BEGIN
      UPDATE sagapost.saga_instances AS saga SET
        woken = true,
        wake_at = CASE WHEN saga.lease_owner IS NULL THEN least(saga.wake_at, sagapost.now()) ELSE saga.wake_at END
      WHERE saga.id = ANY (busy) AND saga.state IN (0, 1, 2, 4);
    EXCEPTION WHEN lock_not_available THEN
      INSERT INTO sagapost.saga_wakeups (topic)
      SELECT DISTINCT news.topic FROM unnest(topics) AS news (topic)
      WHERE EXISTS (
          SELECT FROM sagapost.saga_steps AS step
          WHERE step.waits_for = news.topic AND step.state IN (1, 4) AND step.saga_id = ANY (busy))
        OR (starts_with(news.topic, 'saga:') AND EXISTS (
          SELECT FROM sagapost.saga_instances AS child
          WHERE child.parent_id = substr(news.topic, 6) AND child.id = ANY (busy)));
      GET DIAGNOSTICS kept = ROW_COUNT;
    END;
  END IF;
  RETURN cardinality(topics) - kept;
END
$$;

-- Signals whose time is over are removed by rows that nobody holds: that needs FOR UPDATE, and that the right to update.
GRANT UPDATE (expires_at) ON sagapost.saga_signals TO saga_app_role;
