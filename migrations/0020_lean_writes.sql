-- Fewer bytes and locks for every delivery; docs/internals/performance.md has what each of these is worth.

-- The guards of updates look afterwards instead of before: for a BEFORE trigger PostgreSQL locks every row first, which
-- is a WAL record of its own even when the rule holds. An illegal change still fails its statement, and leaves nothing.
-- The rules are those of 0005 and 0014, word for word.

DROP TRIGGER saga_moves_legally ON sagapost.webhook_delivery_sagas;
CREATE TRIGGER saga_moves_legally
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status NOT IN ('Completed', 'DeadLettered') AND NOT (
    (OLD.status = 'InProgress' AND NEW.status IN ('Completed', 'PendingRetry')
      AND NEW.attempt_count BETWEEN OLD.attempt_count AND OLD.attempt_count + 1)
    OR (NEW.attempt_count = OLD.attempt_count AND (
      (OLD.status = 'Pending' AND NEW.status = 'InProgress')
      OR (OLD.status = 'PendingRetry' AND NEW.status = 'InProgress' AND OLD.next_attempt_at <= sagapost.now())
      OR (OLD.status = 'PendingRetry' AND NEW.status = 'DeadLettered')
    ))
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a delivery');
ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS TRIGGER saga_moves_legally;

DROP TRIGGER saga_final_is_frozen ON sagapost.webhook_delivery_sagas;
CREATE TRIGGER saga_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or DeadLettered delivery never changes');
ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS TRIGGER saga_final_is_frozen;

DROP TRIGGER saga_identity_is_frozen ON sagapost.webhook_delivery_sagas;
CREATE TRIGGER saga_identity_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (
    (OLD.id, OLD.event_id, OLD.subscription_id, OLD.requeued_from, OLD.created_at, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id, NEW.subscription_id, NEW.requeued_from, NEW.created_at, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a delivery is for never changes');
ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS TRIGGER saga_identity_is_frozen;

DROP TRIGGER job_moves_legally ON sagapost.webhook_delivery_jobs;
CREATE TRIGGER job_moves_legally
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status NOT IN ('Completed', 'Failed') AND NOT (
    (OLD.status = 'Pending' AND NEW.status = 'Leased')
    OR (OLD.status = 'Leased' AND NEW.status IN ('Completed', 'Failed', 'Pending'))
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a job');
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_moves_legally;

DROP TRIGGER job_final_is_frozen ON sagapost.webhook_delivery_jobs;
CREATE TRIGGER job_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed') AND (
    OLD.applied_at IS NOT NULL OR NEW.applied_at IS NULL
    OR (OLD.status, OLD.lease_until, OLD.lease_token, OLD.worker_id, OLD.lease_resets, OLD.probes, OLD.response_status,
        OLD.error_code, OLD.retry_after_s, OLD.duration_ms, OLD.response_excerpt, OLD.finished_at)
       IS DISTINCT FROM
       (NEW.status, NEW.lease_until, NEW.lease_token, NEW.worker_id, NEW.lease_resets, NEW.probes, NEW.response_status,
        NEW.error_code, NEW.retry_after_s, NEW.duration_ms, NEW.response_excerpt, NEW.finished_at)))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or Failed job never changes');
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_final_is_frozen;

DROP TRIGGER job_identity_is_frozen ON sagapost.webhook_delivery_jobs;
CREATE TRIGGER job_identity_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (
    (OLD.id, OLD.saga_id, OLD.event_id, OLD.subscription_id, OLD.attempt_at, OLD.attempt, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.saga_id, NEW.event_id, NEW.subscription_id, NEW.attempt_at, NEW.attempt, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a job is for never changes');
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_identity_is_frozen;

-- Room on the page for the versions that every delivery and job goes through: an update that finds none locks the row
-- with a WAL record of its own, writes the whole row to another page, and leaves a hole here.
CREATE OR REPLACE FUNCTION sagapost.make_partition(parent text, from_id bigint, to_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  suffix text := '_from_' || from_id;
  partition text := parent || suffix;
  -- Sagas and jobs are updated a few times and then never again: room on the page keeps the versions together.
  options text := CASE WHEN parent LIKE 'webhook\_delivery\_%' THEN
    ' WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)' ELSE '' END;
BEGIN
  EXECUTE format('CREATE TABLE sagapost.%I (LIKE sagapost.%I INCLUDING ALL)%s', partition, parent, options);

  -- Statement triggers are not cloned by ATTACH, row triggers are.
  EXECUTE format(
    'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
       FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')', partition);
  EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER truncate_is_refused', partition);
  IF parent = 'events' THEN
    EXECUTE format(
      'CREATE TRIGGER event_enqueue_routing AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS stored
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER event_enqueue_routing', partition);
  END IF;

  EXECUTE format('ALTER TABLE sagapost.%I ATTACH PARTITION sagapost.%I FOR VALUES FROM (%s) TO (%s)',
    parent, partition, from_id, to_id);

  PERFORM sagapost.name_partition_indexes();
END
$$;

DO $$
DECLARE
  partition text;
BEGIN
  FOR partition IN
    SELECT partition_name FROM sagapost.partitions
    WHERE table_name IN ('webhook_delivery_sagas', 'webhook_delivery_jobs')
  LOOP
    EXECUTE format('ALTER TABLE sagapost.%I SET (fillfactor = 50)', partition);
  END LOOP;
END
$$;
