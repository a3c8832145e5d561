-- Dead letters [D1–D3]: what could not be delivered, with its payload.

CREATE SEQUENCE sagapost.dead_letters_id_seq;

-- Partitioned like the deliveries. The payload is json, as the event's: byte for byte [D2].
CREATE TABLE sagapost.dead_letters (
  id               bigint       NOT NULL DEFAULT nextval('sagapost.dead_letters_id_seq'),
  saga_id          bigint       NOT NULL,
  event_id         bigint       NOT NULL,
  subscription_id  bigint       NOT NULL,
  event_type       varchar(100) NOT NULL,
  final_error_code varchar(100),
  failed_at        timestamptz  NOT NULL DEFAULT sagapost.now(),
  payload_snapshot json         NOT NULL,
  attempt_count    integer      NOT NULL,
  -- Of the last job [J11].
  job_id           bigint,
  worker_id        varchar(100),
  lease_expiration timestamptz,
  correlation_id   varchar(255),
  CONSTRAINT dead_letters_pkey PRIMARY KEY (id, event_id)
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.dead_letters_id_seq OWNED BY sagapost.dead_letters.id;

-- [D3] One dead letter per delivery.
CREATE UNIQUE INDEX uniq_dead_saga ON sagapost.dead_letters (saga_id, event_id);
CREATE INDEX idx_dead_saga ON sagapost.dead_letters (saga_id);
CREATE INDEX idx_dead_event ON sagapost.dead_letters (event_id);
-- For the lists of the API, in their order. Dead letters are rare, and a delivery that succeeds has none.
CREATE INDEX idx_dead_failed ON sagapost.dead_letters (failed_at, id);
CREATE INDEX idx_dead_subscription ON sagapost.dead_letters (subscription_id, failed_at, id);
CREATE INDEX idx_dead_error ON sagapost.dead_letters (final_error_code, failed_at, id);
CREATE INDEX idx_dead_type ON sagapost.dead_letters (event_type, failed_at, id);

CREATE TRIGGER dead_letter_is_append_only
  BEFORE UPDATE OR DELETE ON sagapost.dead_letters
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'dead letters are append-only');

CREATE TRIGGER truncate_is_refused
  BEFORE TRUNCATE ON sagapost.dead_letters
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP005', 'rows are never deleted');

-- [D3] A delivery cannot be DeadLettered without its dead letter: the move itself writes it, with the payload as it is
-- [D2], and fails while a job of the delivery may still be sent [S19]. SECURITY DEFINER, because the orchestrator reads
-- no payload [S8] and may not write dead letters.
CREATE FUNCTION sagapost.write_dead_letter() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  -- As in check_made_deliveries().
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

CREATE TRIGGER saga_writes_dead_letter
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status <> 'DeadLettered' AND NEW.status = 'DeadLettered')
  EXECUTE FUNCTION sagapost.write_dead_letter();
ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS TRIGGER saga_writes_dead_letter;

-- [D3] The other way round: a dead letter needs a DeadLettered delivery, whichever role inserts it.
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

ALTER TABLE sagapost.dead_letters
  ENABLE ALWAYS TRIGGER dead_letter_is_append_only,
  ENABLE ALWAYS TRIGGER truncate_is_refused,
  ENABLE ALWAYS TRIGGER dead_letter_has_dead_saga;
