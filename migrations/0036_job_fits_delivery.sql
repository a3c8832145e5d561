-- [S16, S19, S9, J3] A job is made only for a delivery that is InProgress, under its event and subscription and as its next
-- attempt, for every role and for the owner: the result of another attempt would count as one that was applied before [S4],
-- and the delivery would stay InProgress for ever. One look for all jobs of a statement; docs/internals/decisions.md has its price and what else was
-- measured.
--
-- The orchestrator moves the deliveries in the same statement. The trigger runs after it, so they are this transaction's own
-- versions, which no other can change: they need no lock. All others are locked and looked at once more, because another
-- transaction may be ending the delivery, or the delivery may have a job whose result is not applied yet. The bounds leave
-- out all partitions but those of the events when the statement begins, and `event_id + 0` keeps them from being left out
-- while it runs (src/orchestrator/make-jobs.ts).
CREATE FUNCTION sagapost.check_made_jobs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  jobs bigint;
  fitting bigint;
  first_id bigint;
  last_id bigint;
  own_xid xid;
  misfit record;
BEGIN
  SELECT count(*), min(event_id), max(event_id) INTO jobs, first_id, last_id FROM made;
  IF jobs = 0 THEN
    RETURN NULL;
  END IF;
  -- One plan for all values locks every partition at each call. Where they are many, it costs less to plan each time.
  -- The next partition is opened as well: of a single one PostgreSQL 18 would read all rows (0044).
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.webhook_delivery_sagas'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
    SELECT last_id + events_per_partition INTO last_id FROM sagapost.partition_settings;
  END IF;
  own_xid := pg_current_xact_id()::xid;
  SELECT count(*) INTO fitting
  FROM made JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = ANY (ARRAY[made.saga_id]) AND saga.event_id + 0 = made.event_id
    AND (saga.event_id >= first_id OR saga.event_id > last_id) AND (saga.event_id <= last_id OR saga.event_id < first_id)
  WHERE saga.subscription_id = made.subscription_id AND saga.status = 'InProgress' AND saga.xmin = own_xid
    AND saga.attempt_count + 1 = made.attempt;
  IF fitting = jobs THEN
    RETURN NULL;
  END IF;

  PERFORM FROM sagapost.webhook_delivery_sagas AS saga
  WHERE saga.id = ANY (ARRAY(SELECT saga_id FROM made)) AND saga.event_id >= first_id AND saga.event_id <= last_id
  FOR SHARE;
  SELECT made.saga_id, made.event_id, made.subscription_id, made.attempt INTO misfit
  FROM made LEFT JOIN sagapost.webhook_delivery_sagas AS saga
    ON saga.id = ANY (ARRAY[made.saga_id]) AND saga.event_id + 0 = made.event_id
    AND (saga.event_id >= first_id OR saga.event_id > last_id) AND (saga.event_id <= last_id OR saga.event_id < first_id)
    AND saga.subscription_id = made.subscription_id AND saga.attempt_count + 1 = made.attempt AND saga.status = 'InProgress'
    AND NOT EXISTS (
      SELECT FROM sagapost.webhook_delivery_jobs AS job
      WHERE job.saga_id = made.saga_id AND job.event_id = made.event_id AND job.id <> made.id
        AND job.attempt > saga.attempt_count)
  WHERE saga.id IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP011',
      MESSAGE = format('there is no delivery %s of event %s to subscription %s that is InProgress and lacks a job for attempt %s',
        misfit.saga_id, misfit.event_id, misfit.subscription_id, misfit.attempt),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION sagapost.check_made_jobs() FROM PUBLIC;

CREATE TRIGGER job_fits_delivery
  AFTER INSERT ON sagapost.webhook_delivery_jobs
  REFERENCING NEW TABLE AS made
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_jobs();
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_fits_delivery;

-- As in 0026, and a job that is inserted straight into its partition is looked at as well.
CREATE OR REPLACE FUNCTION sagapost.add_statement_triggers(parent text, partition text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF parent = 'events' THEN
    EXECUTE format(
      'CREATE TRIGGER event_enqueue_routing AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS stored
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER event_enqueue_routing', partition);
  ELSIF parent = 'webhook_delivery_jobs' THEN
    EXECUTE format(
      'CREATE TRIGGER job_enqueue_results AFTER UPDATE ON sagapost.%I REFERENCING NEW TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_results()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_enqueue_results', partition);
    EXECUTE format(
      'CREATE TRIGGER job_fits_delivery AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_jobs()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_fits_delivery', partition);
  END IF;
END
$$;

DO $$
DECLARE
  partition text;
BEGIN
  FOR partition IN
    SELECT partition_name FROM sagapost.partitions WHERE table_name = 'webhook_delivery_jobs'
  LOOP
    EXECUTE format(
      'CREATE TRIGGER job_fits_delivery AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_jobs()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER job_fits_delivery', partition);
  END LOOP;
END
$$;

-- As in 0026, and [S19] a delivery does not end while a job of it may still be sent.
CREATE OR REPLACE FUNCTION sagapost.write_dead_letter() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  -- See check_made_jobs().
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.webhook_delivery_jobs'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;
  IF EXISTS (
    SELECT FROM sagapost.webhook_delivery_jobs
    WHERE saga_id = NEW.id AND event_id = NEW.event_id AND status IN ('Pending', 'Leased')
  ) THEN
    RAISE EXCEPTION USING ERRCODE = 'SP002',
      MESSAGE = format('delivery %s cannot be dead-lettered: it has a job that may still be sent', NEW.id),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  INSERT INTO sagapost.dead_letters
    (saga_id, event_id, subscription_id, event_type, final_error_code, payload_snapshot, attempt_count,
     job_id, worker_id, lease_expiration, correlation_id)
  SELECT NEW.id, NEW.event_id, NEW.subscription_id, event.event_type, NEW.final_error_code, event.payload,
         NEW.attempt_count, job.id, job.worker_id, job.lease_until, NEW.correlation_id
  FROM sagapost.events AS event
  LEFT JOIN LATERAL (
    SELECT id, worker_id, lease_until FROM sagapost.webhook_delivery_jobs
    WHERE saga_id = NEW.id AND event_id = NEW.event_id AND status = 'Failed'
    ORDER BY attempt DESC, attempt_at DESC LIMIT 1
  ) AS job ON true
  WHERE event.id = NEW.event_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP006',
      MESSAGE = format('delivery %s cannot be dead-lettered: its event %s is not there', NEW.id, NEW.event_id),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END
$$;
