-- How sending pauses and stops: a breaker pauses an endpoint that fails, an inactive subscription holds its deliveries,
-- a deleted one ends them, an operator cancels one, and 410 Gone deactivates a subscription. The state machines stay as
-- they are: only the orchestrator moves deliveries, only workers and the cleaner move jobs.

-- A breaker per subscription: while it is open, the endpoint is paused, and deliveries wait instead of using up their
-- attempts. Workers share the state through this table. Only failing subscriptions have a row, so a healthy delivery
-- writes nothing here.
CREATE TABLE sagapost.subscription_breakers (
  subscription_id bigint      NOT NULL,
  -- In a row, since the last success.
  failures        integer     NOT NULL,
  failing_since   timestamptz NOT NULL DEFAULT sagapost.now(),
  last_error_code varchar(100),
  last_failed_at  timestamptz NOT NULL DEFAULT sagapost.now(),
  -- Set when the breaker opens. Until the pause has ended, only a probe is sent now and then.
  opened_at       timestamptz,
  paused_until    timestamptz,
  probe_at        timestamptz,
  CONSTRAINT subscription_breakers_pkey PRIMARY KEY (subscription_id),
  CONSTRAINT fk_subscription_breakers_subscription
    FOREIGN KEY (subscription_id) REFERENCES sagapost.subscriptions (id) ON DELETE CASCADE,
  CONSTRAINT subscription_breakers_failures_positive CHECK (failures > 0),
  CONSTRAINT subscription_breakers_open_is_probed
    CHECK ((opened_at IS NULL) = (probe_at IS NULL) AND (opened_at IS NULL) = (paused_until IS NULL))
);

-- A new URL, a passed verification and an activation start afresh.
CREATE FUNCTION sagapost.close_breaker() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  DELETE FROM sagapost.subscription_breakers WHERE subscription_id = NEW.id;
  RETURN NULL;
END
$$;

CREATE TRIGGER subscription_closes_breaker
  AFTER UPDATE ON sagapost.subscriptions
  FOR EACH ROW WHEN (
    OLD.callback_url IS DISTINCT FROM NEW.callback_url
    OR (NEW.active AND NOT OLD.active)
    OR (NEW.verified AND OLD.verification_challenge IS NOT NULL AND NEW.verification_challenge IS NULL))
  EXECUTE FUNCTION sagapost.close_breaker();
ALTER TABLE sagapost.subscriptions ENABLE ALWAYS TRIGGER subscription_closes_breaker;

-- Subscriptions that were activated, deactivated or deleted a short while ago: their open deliveries need a look.
-- Workers read the table every few seconds and delete a row when nothing is left to do for it.
CREATE TABLE sagapost.subscription_switches (
  subscription_id bigint      NOT NULL,
  switched_at     timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT subscription_switches_pkey PRIMARY KEY (subscription_id)
);
COMMENT ON TABLE sagapost.subscription_switches IS
  'Subscriptions that were activated, deactivated or deleted a short while ago: their open deliveries are held, released or ended';

-- In the transaction of the change, whichever role makes it; the notification leaves with its commit.
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

-- A held job is Pending and may be claimed from a time that never comes, one per subscription: no claim meets it
-- however long it is held, and idx_job_status_lease finds the held jobs of one subscription.
CREATE FUNCTION sagapost.held_until(subscription_id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN timestamptz '3000-01-01 00:00:00+00' + subscription_id * interval '1 microsecond';
COMMENT ON FUNCTION sagapost.held_until(bigint) IS 'lease_until of the held jobs of a subscription';

CREATE TABLE sagapost.delivery_cancellations (
  saga_id      bigint      NOT NULL,
  event_id     bigint      NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT delivery_cancellations_pkey PRIMARY KEY (saga_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE sagapost.delivery_cancellations IS
  'Deliveries that an operator has cancelled and that are still open; the orchestrator ends them';

-- Requests the end of a delivery; the parts bring it about. A repeated request has the same answer, also when the
-- delivery has ended by it.
CREATE FUNCTION sagapost.cancel_delivery(delivery_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  of_event constant bigint := sagapost.find_event_id('webhook_delivery_sagas', delivery_id);
  delivery record;
BEGIN
  SELECT id, event_id, status, final_error_code INTO delivery
  FROM sagapost.webhook_delivery_sagas
  WHERE id = delivery_id AND event_id = of_event;
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

-- Active subscriptions with a 410 Gone since their last change: a late answer from an old URL does not count against a
-- new one, because its job was made before the change. Workers and orchestrators may not deactivate a subscription, and
-- subscription_admin may not read jobs: this function tells it only which are gone. Group by group.
CREATE FUNCTION sagapost.gone_subscriptions(since timestamptz)
RETURNS TABLE (subscription_id bigint, observed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  bounds record;
  matching record;
  gone bigint[] := '{}';
  times timestamptz[] := '{}';
BEGIN
  FOR bounds IN SELECT from_id, to_id FROM sagapost.partition_groups() LOOP
    BEGIN
      EXECUTE format($gone$
        SELECT array_agg(subscription_id) AS ids, array_agg(observed_at) AS times
        FROM (
          SELECT job.subscription_id, max(job.attempt_at) AS observed_at
          FROM sagapost.webhook_delivery_jobs AS job
          JOIN sagapost.subscriptions AS subscription ON subscription.id = job.subscription_id
          WHERE job.error_code = 'http_410' AND job.finished_at >= $1
            AND subscription.active AND subscription.updated_at <= job.attempt_at%s%s
          GROUP BY job.subscription_id
        ) AS of_group
        $gone$, ' AND job.event_id >= ' || bounds.from_id, ' AND job.event_id < ' || bounds.to_id)
      INTO matching USING since;
      RAISE SQLSTATE 'SP000';
    EXCEPTION WHEN SQLSTATE 'SP000' THEN
      gone := gone || matching.ids;
      times := times || matching.times;
    END;
  END LOOP;
  RETURN QUERY
    SELECT each.subscription_id, max(each.observed_at)
    FROM unnest(gone, times) AS each (subscription_id, observed_at) GROUP BY each.subscription_id;
END
$$;
