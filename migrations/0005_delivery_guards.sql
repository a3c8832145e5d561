-- The rules that hold whoever writes, the owner included: legal moves, frozen rows, append-only tables.
-- Every guard is a trigger whose WHEN clause is the rule itself, so that a legal write calls no function.
-- ENABLE ALWAYS: session_replication_role does not switch them off. The name of the trigger is reported as
-- the constraint, the SQLSTATE is its first argument: src/database/database-errors.ts maps both to codes.

CREATE FUNCTION sagapost.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = TG_ARGV[0],
    MESSAGE = format('%s (%s %s on %s%s)', TG_ARGV[1], TG_LEVEL, TG_OP, TG_TABLE_NAME,
      CASE WHEN TG_LEVEL <> 'ROW' THEN ''
           WHEN TG_OP = 'INSERT' THEN ' id ' || NEW.id
           ELSE ' id ' || OLD.id END),
    CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$$;

-- Delivery sagas ------------------------------------------------------------------------------------------

CREATE TRIGGER saga_begins_pending
  BEFORE INSERT ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (NEW.status <> 'Pending' OR NEW.attempt_count <> 0 OR NEW.final_error_code IS NOT NULL)
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a delivery begins as Pending with 0 attempts and no error');

-- [S5] The five moves, [S10] the time of the retry, and attempt_count, which moves by one at the most and
-- only when a result is applied. Frozen rows are the next trigger's business.
CREATE TRIGGER saga_moves_legally
  BEFORE UPDATE ON sagapost.webhook_delivery_sagas
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

-- [S11] No change at all, updated_at included.
CREATE TRIGGER saga_final_is_frozen
  BEFORE UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or DeadLettered delivery never changes');

CREATE TRIGGER saga_identity_is_frozen
  BEFORE UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (
    (OLD.id, OLD.event_id, OLD.subscription_id, OLD.requeued_from, OLD.created_at, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id, NEW.subscription_id, NEW.requeued_from, NEW.created_at, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a delivery is for never changes');

CREATE TRIGGER saga_is_kept
  BEFORE DELETE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'deliveries are never deleted');

-- Jobs ----------------------------------------------------------------------------------------------------

CREATE TRIGGER job_begins_pending
  BEFORE INSERT ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (NEW.status <> 'Pending')
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a job begins as Pending');

-- [J12] The four moves.
CREATE TRIGGER job_moves_legally
  BEFORE UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status NOT IN ('Completed', 'Failed') AND NOT (
    (OLD.status = 'Pending' AND NEW.status = 'Leased')
    OR (OLD.status = 'Leased' AND NEW.status IN ('Completed', 'Failed', 'Pending'))
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a job');

-- [J12, S4] The one thing that still happens to a finished job: the orchestrator marks it applied, once.
CREATE TRIGGER job_final_is_frozen
  BEFORE UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed') AND (
    OLD.applied_at IS NOT NULL OR NEW.applied_at IS NULL
    OR (OLD.status, OLD.lease_until, OLD.lease_token, OLD.worker_id, OLD.lease_resets, OLD.response_status,
        OLD.error_code, OLD.retry_after_s, OLD.duration_ms, OLD.response_excerpt, OLD.finished_at)
       IS DISTINCT FROM
       (NEW.status, NEW.lease_until, NEW.lease_token, NEW.worker_id, NEW.lease_resets, NEW.response_status,
        NEW.error_code, NEW.retry_after_s, NEW.duration_ms, NEW.response_excerpt, NEW.finished_at)))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or Failed job never changes');

CREATE TRIGGER job_identity_is_frozen
  BEFORE UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (
    (OLD.id, OLD.saga_id, OLD.event_id, OLD.subscription_id, OLD.attempt_at, OLD.attempt, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.saga_id, NEW.event_id, NEW.subscription_id, NEW.attempt_at, NEW.attempt, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a job is for never changes');

CREATE TRIGGER job_is_kept
  BEFORE DELETE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'jobs are never deleted');

-- Events and dead letters ---------------------------------------------------------------------------------

CREATE TRIGGER event_is_append_only
  BEFORE UPDATE OR DELETE ON sagapost.events
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'events are append-only');

CREATE TRIGGER dead_letter_is_append_only
  BEFORE UPDATE OR DELETE ON sagapost.dead_letters
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'dead letters are append-only');

-- [D3] No saga is DeadLettered without its dead letter, because the move itself writes it, in the same
-- transaction, with the payload as it stands [D2]. SECURITY DEFINER: the orchestrator reads no payload [S8]
-- and may write no dead letter.
CREATE FUNCTION sagapost.write_dead_letter() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO sagapost.dead_letters
    (saga_id, event_id, subscription_id, event_type, final_error_code, payload_snapshot, attempt_count,
     job_id, worker_id, lease_expiration, correlation_id)
  SELECT NEW.id, NEW.event_id, NEW.subscription_id, event.event_type, NEW.final_error_code, event.payload,
         NEW.attempt_count, job.id, job.worker_id, job.lease_until, NEW.correlation_id
  FROM sagapost.events AS event
  LEFT JOIN LATERAL (
    SELECT id, worker_id, lease_until FROM sagapost.webhook_delivery_jobs
    WHERE saga_id = NEW.id AND event_id = NEW.event_id
    ORDER BY attempt_at DESC LIMIT 1
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

CREATE TRIGGER saga_writes_dead_letter
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status <> 'DeadLettered' AND NEW.status = 'DeadLettered')
  EXECUTE FUNCTION sagapost.write_dead_letter();

-- [D3] The other way round: a dead letter of a saga that is not dead is refused, whoever inserts it.
CREATE FUNCTION sagapost.check_dead_letter() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas
    WHERE id = NEW.saga_id AND event_id = NEW.event_id AND subscription_id = NEW.subscription_id
      AND status = 'DeadLettered'
  ) THEN
    RAISE EXCEPTION USING ERRCODE = 'SP006',
      MESSAGE = format('delivery %s is not DeadLettered, so it has no dead letter', NEW.saga_id),
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER dead_letter_has_dead_saga
  BEFORE INSERT ON sagapost.dead_letters
  FOR EACH ROW EXECUTE FUNCTION sagapost.check_dead_letter();

-- Subscriptions -------------------------------------------------------------------------------------------

CREATE TRIGGER subscription_deleted_is_frozen
  BEFORE UPDATE ON sagapost.subscriptions
  FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL)
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a deleted subscription never changes');

-- TRUNCATE, and ENABLE ALWAYS for all of them. Row triggers are cloned to partitions with their state;
-- statement triggers are not, so make_partition (0006) adds this one to every partition.
DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT relname FROM pg_class
    WHERE relnamespace = 'sagapost'::regnamespace AND relkind = 'p'
  LOOP
    EXECUTE format(
      'CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.%I
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse(''SP005'', ''rows are never deleted'')',
      guard.relname);
  END LOOP;

  FOR guard IN
    SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = 'sagapost'::regnamespace AND NOT tgisinternal AND tgenabled <> 'A'
  LOOP
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
END
$$;
