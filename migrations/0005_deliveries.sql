-- Deliveries, the API's word for delivery sagas [S1–S3, S5]: one per event and subscription.

-- The states of docs/concepts/state-machines.md; a test compares every pair of them with the guards below.
CREATE TYPE sagapost.delivery_status AS ENUM ('Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered');

CREATE SEQUENCE sagapost.webhook_delivery_sagas_id_seq;

-- Partitioned like the events. A delivery has one event, so every unique key can include event_id without a change of
-- its meaning. No foreign keys among the four partitioned tables: they would tie partitions together and lock rows on
-- the hot path.
CREATE TABLE sagapost.webhook_delivery_sagas (
  id               bigint                   NOT NULL DEFAULT nextval('sagapost.webhook_delivery_sagas_id_seq'),
  event_id         bigint                   NOT NULL,
  subscription_id  bigint                   NOT NULL,
  status           sagapost.delivery_status NOT NULL DEFAULT 'Pending',
  attempt_count    integer                  NOT NULL DEFAULT 0,
  next_attempt_at  timestamptz              NOT NULL DEFAULT sagapost.now(),
  final_error_code varchar(100),
  created_at       timestamptz              NOT NULL DEFAULT sagapost.now(),
  updated_at       timestamptz              NOT NULL DEFAULT sagapost.now(),
  -- The dead letter that this delivery requeues; null for a routed delivery.
  requeued_from    bigint,
  correlation_id   varchar(255),
  CONSTRAINT webhook_delivery_sagas_pkey PRIMARY KEY (id, event_id),
  CONSTRAINT sagas_attempt_count_not_negative CHECK (attempt_count >= 0)
) PARTITION BY RANGE (event_id);

ALTER SEQUENCE sagapost.webhook_delivery_sagas_id_seq OWNED BY sagapost.webhook_delivery_sagas.id;

-- Indexes. docs/internals/decisions.md has what each costs ------------------------------------------------------------

-- [S3] Routing an event twice makes one delivery; a requeued delivery is another one. [S2, S21] Holds them all, so that
-- `event_id = … AND subscription_id = …` is served as it is written down.
CREATE UNIQUE INDEX uniq_saga_event_subscription ON sagapost.webhook_delivery_sagas
  (event_id, subscription_id, requeued_from) NULLS NOT DISTINCT;
-- A dead letter is requeued once; a second request finds the delivery that the first one made.
CREATE UNIQUE INDEX uniq_saga_requeued_from ON sagapost.webhook_delivery_sagas (requeued_from, event_id)
  WHERE requeued_from IS NOT NULL;
-- [S2] Requeued deliveries only: all others would be written twice for nothing. Not IS NOT NULL, which a search for the
-- delivery of one dead letter implies: the planner would use this index for it instead of uniq_saga_requeued_from.
CREATE INDEX idx_saga_event ON sagapost.webhook_delivery_sagas (event_id, subscription_id) WHERE requeued_from > 0;
-- [S21] Only deliveries that wait for the orchestrator: finished ones, nearly all rows, cost these two indexes nothing.
CREATE INDEX idx_saga_status ON sagapost.webhook_delivery_sagas (status) WHERE status = 'Pending';
CREATE INDEX idx_saga_status_retry ON sagapost.webhook_delivery_sagas (status, next_attempt_at)
  WHERE status = 'PendingRetry';

-- For the lists of the API, each in the order of its list. The first is the only one that a successful delivery pays
-- for, with one entry instead of one per status: the lists of the other statuses have ways of their own.
CREATE INDEX idx_saga_subscription ON sagapost.webhook_delivery_sagas (subscription_id, id) WHERE status = 'Completed';
-- Deliveries that failed: all, of one subscription, with one error, and both.
CREATE INDEX idx_saga_failing ON sagapost.webhook_delivery_sagas (status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
CREATE INDEX idx_saga_failing_subscription ON sagapost.webhook_delivery_sagas (subscription_id, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
CREATE INDEX idx_saga_failing_error ON sagapost.webhook_delivery_sagas (final_error_code, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
CREATE INDEX idx_saga_failing_subscription_error
  ON sagapost.webhook_delivery_sagas (subscription_id, final_error_code, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');

-- Guards --------------------------------------------------------------------------------------------------------------

-- For updates these are AFTER triggers: for a BEFORE trigger PostgreSQL locks every row first, with a WAL record of its
-- own, even when the rule holds. An illegal change still fails its statement and leaves nothing behind.

CREATE TRIGGER saga_begins_pending
  BEFORE INSERT ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (NEW.status <> 'Pending' OR NEW.attempt_count <> 0 OR NEW.final_error_code IS NOT NULL)
  EXECUTE FUNCTION sagapost.refuse('SP001', 'a delivery begins as Pending with 0 attempts and no error');

-- [S5] The five moves, [S10] the time of the retry, and attempt_count, which moves by one at most and only when a
-- result is applied. Finished rows are left to the next trigger.
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

-- [S11] No change at all, updated_at included.
CREATE TRIGGER saga_final_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'DeadLettered'))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or DeadLettered delivery never changes');

CREATE TRIGGER saga_identity_is_frozen
  AFTER UPDATE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW WHEN (
    (OLD.id, OLD.event_id, OLD.subscription_id, OLD.requeued_from, OLD.created_at, OLD.correlation_id)
    IS DISTINCT FROM
    (NEW.id, NEW.event_id, NEW.subscription_id, NEW.requeued_from, NEW.created_at, NEW.correlation_id))
  EXECUTE FUNCTION sagapost.refuse('SP004', 'what a delivery is for never changes');

CREATE TRIGGER saga_is_kept
  BEFORE DELETE ON sagapost.webhook_delivery_sagas
  FOR EACH ROW EXECUTE FUNCTION sagapost.refuse('SP005', 'deliveries are never deleted');

CREATE TRIGGER truncate_is_refused
  BEFORE TRUNCATE ON sagapost.webhook_delivery_sagas
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP005', 'rows are never deleted');

-- [U5, R2] A delivery needs a stored event and an active, verified subscription; a routed one the event's type as well.
-- One check per statement. STABLE: it has the snapshot of the INSERT, which is therefore never refused for a
-- subscription that is deactivated meanwhile; its delivery is held or ended like the others.
-- docs/internals/decisions.md has the price.
CREATE FUNCTION sagapost.check_made_deliveries() RETURNS trigger
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  deliveries bigint;
  fitting bigint;
  event_ids bigint[];
  first_id bigint;
  last_id bigint;
  misfit record;
BEGIN
  SELECT count(*), array_agg(event_id), min(event_id), max(event_id) INTO deliveries, event_ids, first_id, last_id FROM made;
  IF deliveries = 0 THEN
    RETURN NULL;
  END IF;
  -- One plan for all values locks every partition at each call. Where they are many, it costs less to plan each time.
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.events'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;
  -- The events are read once, into a hash table. The bounds exclude all other partitions when the statement begins.
  SELECT count(*) FILTER (WHERE (made.event_id, subscription.event_type) IN (
    SELECT event.id, event.event_type FROM sagapost.events AS event
    WHERE event.id = ANY (event_ids) AND event.id >= first_id AND event.id <= last_id)) INTO fitting
  FROM made JOIN sagapost.subscriptions AS subscription
    ON subscription.id = made.subscription_id AND subscription.active AND subscription.verified;
  IF fitting = deliveries THEN
    RETURN NULL;
  END IF;

  -- [D4] A requeue is for the subscription of the dead letter, whatever its type is now.
  SELECT made.event_id, made.subscription_id, event.event_type, subscription.event_type AS wanted_type INTO misfit
  FROM made
  LEFT JOIN sagapost.events AS event
    ON event.id = made.event_id AND event.id >= first_id AND event.id <= last_id
  LEFT JOIN sagapost.subscriptions AS subscription
    ON subscription.id = made.subscription_id AND subscription.active AND subscription.verified
  WHERE event.event_type IS NULL OR subscription.event_type IS NULL
    OR (event.event_type <> subscription.event_type AND made.requeued_from IS NULL) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP012',
      MESSAGE = CASE
        WHEN misfit.event_type IS NULL THEN
          format('a delivery to subscription %s needs event %s, which is not there', misfit.subscription_id, misfit.event_id)
        WHEN misfit.wanted_type IS NULL THEN
          format('a delivery of event %s needs subscription %s, which is not there, not verified or not active',
            misfit.event_id, misfit.subscription_id)
        ELSE format('event %s is of type %s, and subscription %s of type %s',
          misfit.event_id, misfit.event_type, misfit.subscription_id, misfit.wanted_type) END,
      CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER delivery_fits_subscription
  AFTER INSERT ON sagapost.webhook_delivery_sagas
  REFERENCING NEW TABLE AS made
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_deliveries();

ALTER TABLE sagapost.webhook_delivery_sagas
  ENABLE ALWAYS TRIGGER saga_begins_pending,
  ENABLE ALWAYS TRIGGER saga_moves_legally,
  ENABLE ALWAYS TRIGGER saga_final_is_frozen,
  ENABLE ALWAYS TRIGGER saga_identity_is_frozen,
  ENABLE ALWAYS TRIGGER saga_is_kept,
  ENABLE ALWAYS TRIGGER truncate_is_refused,
  ENABLE ALWAYS TRIGGER delivery_fits_subscription;

-- Events that were lost -----------------------------------------------------------------------------------------------

-- Events of a range of ids (to_id excluded) that lack a delivery and do not wait to be routed: their entry in the queue
-- was deleted, or never written. EXCEPT and NOT IN sort and hash: without statistics, anti joins became nested loops
-- over all deliveries (a minute for 10,000 events with 30,000 deliveries).
CREATE FUNCTION sagapost.lost_events(from_id bigint, to_id bigint)
RETURNS TABLE (event_id bigint, subscription_id bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
  SELECT missing.event_id, missing.subscription_id
  FROM (
    SELECT event.id AS event_id, route.subscription_id
    FROM sagapost.events AS event
    JOIN sagapost.subscription_routes AS route
      ON route.event_type = event.event_type AND route.first_event_id <= event.id
    JOIN sagapost.subscriptions AS subscription
      ON subscription.id = route.subscription_id AND subscription.active AND subscription.verified
      AND subscription.event_type = route.event_type
    WHERE event.id >= from_id AND event.id < to_id
    EXCEPT
    SELECT saga.event_id, saga.subscription_id FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.requeued_from IS NULL AND saga.event_id >= from_id AND saga.event_id < to_id) AS missing
  WHERE missing.event_id NOT IN (SELECT queued.event_id FROM sagapost.unrouted_events AS queued)
    AND missing.event_id NOT IN (SELECT aside.event_id FROM sagapost.set_aside_events AS aside);
END;

-- Requeues what was lost among `ids` events from the first id on. `next_from` is where the next call continues, null at
-- the end. Ranges that retention has dropped from one table and not yet from the others are left out.
CREATE FUNCTION sagapost.requeue_lost_events(
  first_id bigint, ids integer, OUT requeued bigint, OUT next_from bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  from_id bigint := greatest(first_id, (
    SELECT max(oldest) FROM (SELECT min(partition.from_id) AS oldest FROM sagapost.partitions AS partition
                             GROUP BY table_name) AS of_table));
  to_id bigint := from_id + ids;
BEGIN
  requeued := sagapost.queue_events(ARRAY(SELECT DISTINCT event_id FROM sagapost.lost_events(from_id, to_id)));
  SELECT to_id INTO next_from FROM sagapost.events_id_seq WHERE last_value >= to_id;
END
$$;
