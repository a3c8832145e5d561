-- How sending is stopped: what is open of a subscription that was deleted ends, of an inactive one is held, and one delivery
-- can be cancelled. The machines of deliveries and jobs are as they were: only the orchestrator moves deliveries, only
-- workers and the cleaner move jobs.

-- Subscriptions that were switched on or off, or deleted, a short while ago: what is open of theirs has to be looked at.
-- Workers read it every few seconds and take a row away when nothing is left to do for it.
CREATE TABLE sagapost.subscription_switches (
  subscription_id bigint      NOT NULL,
  switched_at     timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT subscription_switches_pkey PRIMARY KEY (subscription_id)
);
COMMENT ON TABLE sagapost.subscription_switches IS
  'Subscriptions that were switched on or off, or deleted, a short while ago: their open deliveries are held, let go or ended';

-- In the transaction of the change, whoever makes it; the notification goes out with its commit. Changes are rare.
CREATE FUNCTION sagapost.note_switch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO sagapost.subscription_switches (subscription_id) VALUES (NEW.id)
  ON CONFLICT (subscription_id) DO UPDATE SET switched_at = sagapost.now();
  PERFORM pg_notify('sagapost_wake', 'switches');
  RETURN NULL;
END
$$;

CREATE TRIGGER subscription_notes_switch
  AFTER UPDATE ON sagapost.subscriptions
  FOR EACH ROW WHEN (OLD.active IS DISTINCT FROM NEW.active OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
  EXECUTE FUNCTION sagapost.note_switch();
ALTER TABLE sagapost.subscriptions ENABLE ALWAYS TRIGGER subscription_notes_switch;

-- A job that is held is Pending, and may be claimed from a time that never comes, one for each subscription: no claim meets
-- it, however long it is held, and idx_job_status_lease finds those of one subscription.
CREATE FUNCTION sagapost.held_until(subscription_id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN timestamptz '3000-01-01 00:00:00+00' + subscription_id * interval '1 microsecond';
COMMENT ON FUNCTION sagapost.held_until(bigint) IS 'lease_until of the held jobs of a subscription';

-- Deliveries that an operator has cancelled and that are still open.
CREATE TABLE sagapost.delivery_cancellations (
  saga_id      bigint      NOT NULL,
  event_id     bigint      NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT delivery_cancellations_pkey PRIMARY KEY (saga_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE sagapost.delivery_cancellations IS 'Deliveries that were cancelled and are still open; the orchestrator ends them';

-- Asks for the end of a delivery; the parts bring it about. Asked again, also after it has ended so: the same answer.
CREATE FUNCTION sagapost.cancel_delivery(delivery_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  delivery record;
BEGIN
  SELECT id, event_id, status, final_error_code INTO delivery
  FROM sagapost.webhook_delivery_sagas WHERE id = delivery_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP008',
      MESSAGE = format('there is no delivery %s', coalesce(delivery_id::text, 'null')),
      CONSTRAINT = 'cancelled_delivery_exists', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;
  IF delivery.status = 'DeadLettered' AND delivery.final_error_code = 'cancelled' THEN
    RETURN;
  END IF;
  IF delivery.status IN ('Completed', 'DeadLettered') THEN
    RAISE EXCEPTION USING ERRCODE = 'SP003',
      MESSAGE = format('delivery %s is %s: it can no longer be cancelled', delivery.id, delivery.status),
      CONSTRAINT = 'cancelled_delivery_is_open', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;
  INSERT INTO sagapost.delivery_cancellations (saga_id, event_id) VALUES (delivery.id, delivery.event_id)
  ON CONFLICT (saga_id) DO NOTHING;
  PERFORM pg_notify('sagapost_wake', 'switches');
END
$$;

REVOKE ALL ON sagapost.subscription_switches, sagapost.delivery_cancellations FROM PUBLIC;
REVOKE ALL ON FUNCTION sagapost.note_switch(), sagapost.held_until(bigint), sagapost.cancel_delivery(bigint) FROM PUBLIC;
GRANT SELECT ON sagapost.subscription_switches, sagapost.delivery_cancellations
  TO saga_orchestrator, job_worker, saga_readonly_role;
GRANT DELETE ON sagapost.subscription_switches TO job_worker;
GRANT DELETE ON sagapost.delivery_cancellations TO saga_orchestrator;
GRANT EXECUTE ON FUNCTION sagapost.held_until(bigint) TO job_worker, saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.cancel_delivery(bigint) TO dead_letter_operator;

-- [D4, S19] As in 0024, and tells a deleted subscription, which never comes back, from one that is inactive.
CREATE OR REPLACE FUNCTION sagapost.requeue_dead_letter(dead_letter_id bigint, OUT delivery_id bigint, OUT created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  letter record;
BEGIN
  SELECT id, event_id, subscription_id, correlation_id INTO letter
  FROM sagapost.dead_letters WHERE id = dead_letter_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SP008',
      MESSAGE = format('there is no dead letter %s', coalesce(dead_letter_id::text, 'null')),
      CONSTRAINT = 'dead_letter_exists', SCHEMA = 'sagapost', TABLE = 'dead_letters';
  END IF;

  SELECT id, false INTO delivery_id, created FROM sagapost.webhook_delivery_sagas
  WHERE requeued_from = letter.id AND event_id = letter.event_id;
  IF FOUND THEN
    RETURN;
  END IF;

  -- FOR SHARE: a subscription that is being switched off is waited for, not raced.
  PERFORM FROM sagapost.subscriptions WHERE id = letter.subscription_id AND active AND verified FOR SHARE;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM sagapost.subscriptions WHERE id = letter.subscription_id AND deleted_at IS NOT NULL) THEN
      RAISE EXCEPTION USING ERRCODE = 'SP009',
        MESSAGE = format('subscription %s was deleted, so dead letter %s cannot be requeued',
          letter.subscription_id, letter.id),
        CONSTRAINT = 'requeue_needs_subscription', SCHEMA = 'sagapost', TABLE = 'subscriptions';
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SP009',
      MESSAGE = format('subscription %s is not active, so dead letter %s cannot be requeued',
        letter.subscription_id, letter.id),
      CONSTRAINT = 'requeue_needs_active_subscription', SCHEMA = 'sagapost', TABLE = 'subscriptions';
  END IF;

  INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from, correlation_id)
  VALUES (letter.event_id, letter.subscription_id, letter.id, letter.correlation_id)
  ON CONFLICT (requeued_from, event_id) WHERE requeued_from IS NOT NULL DO NOTHING
  RETURNING id INTO delivery_id;
  created := FOUND;
  IF created THEN
    PERFORM sagapost.look_at_requeued(ARRAY[letter.event_id]);
  ELSE
    SELECT id INTO STRICT delivery_id FROM sagapost.webhook_delivery_sagas
    WHERE requeued_from = letter.id AND event_id = letter.event_id;
  END IF;
END
$$;

-- As in 0028, and held jobs are no open work: one that is held for months would keep every partition since in each claim.
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

  -- Four index probes for each older partition, from the oldest to the first with open work, and for the last one.
  FOR range IN
    SELECT from_id FROM sagapost.partitions
    WHERE table_name = 'webhook_delivery_sagas' AND from_id < fresh_from ORDER BY from_id
  LOOP
    CONTINUE WHEN open_from IS NOT NULL AND range.from_id <> previous_from;
    EXECUTE format($probe$
      SELECT EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'Pending')
          OR EXISTS (SELECT FROM sagapost.%1$I WHERE status = 'PendingRetry')
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status = 'Pending' AND lease_until < sagapost.held_until(0))
          OR EXISTS (SELECT FROM sagapost.%2$I WHERE status = 'Leased')
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
