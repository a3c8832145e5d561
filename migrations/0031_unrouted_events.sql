-- No stored event is left unrouted, and none holds up another [R1]: what the database refuses to route is set aside with
-- its reason, and an event that has lost its place in the queue is found and put back.

-- What was set aside ------------------------------------------------------------------------------------------------

CREATE TABLE sagapost.set_aside_events (
  event_id       bigint        NOT NULL,
  event_type     varchar(100)  NOT NULL,
  -- text, as in the queue: its length may be what was refused.
  correlation_id text,
  -- A code of the catalogue, or the SQLSTATE.
  error_code     varchar(100)  NOT NULL,
  reason         varchar(1000) NOT NULL,
  set_aside_at   timestamptz   NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT set_aside_events_pkey PRIMARY KEY (event_id)
);
COMMENT ON TABLE sagapost.set_aside_events IS 'Events that the database refused to route, until an operator requeues them';

GRANT INSERT (event_id, event_type, correlation_id, error_code, reason) ON sagapost.set_aside_events TO router_worker;
GRANT SELECT ON sagapost.set_aside_events TO saga_readonly_role;

-- From which event on a subscription gets all of its type -------------------------------------------------------------

-- An event may legally have no delivery to a subscription that became active around the time when the event was stored:
-- neither times nor transaction ids have the order of commits. `first_event_id` is read from the sequence by a
-- transaction that sees the activation committed: an event with this id or a later one is stored after it, and routed
-- after that. docs/internals/decisions.md has the argument.
CREATE TABLE sagapost.subscription_routes (
  subscription_id bigint       NOT NULL,
  event_type      varchar(100) NOT NULL,
  first_event_id  bigint       NOT NULL,
  CONSTRAINT subscription_routes_pkey PRIMARY KEY (subscription_id)
);
COMMENT ON TABLE sagapost.subscription_routes IS 'From which event on each active subscription gets all events of its type';
GRANT SELECT ON sagapost.subscription_routes TO saga_readonly_role;

-- The row goes when the subscription is no longer active, verified or of the type. The lock comes first: open_routes
-- holds it while it reads which subscriptions are active, and counts it up, so that a transaction whose snapshot is older
-- fails instead of leaving the row behind.
CREATE FUNCTION sagapost.close_route() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM FROM sagapost.subscription_version FOR UPDATE;
  DELETE FROM sagapost.subscription_routes WHERE subscription_id = OLD.id;
  RETURN NULL;
END
$$;

CREATE TRIGGER subscription_close_route
  AFTER UPDATE ON sagapost.subscriptions
  FOR EACH ROW WHEN (OLD.active AND OLD.verified
    AND NOT (NEW.active AND NEW.verified AND NEW.event_type = OLD.event_type))
  EXECUTE FUNCTION sagapost.close_route();
ALTER TABLE sagapost.subscriptions ENABLE ALWAYS TRIGGER subscription_close_route;

-- Notes the subscriptions that have become active, and returns how many. It must be the first write of its transaction:
-- an activation of its own would not be committed yet. Never waits; what it leaves out, the next call notes.
CREATE FUNCTION sagapost.open_routes() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  opened bigint;
BEGIN
  IF pg_current_xact_id_if_assigned() IS NOT NULL OR NOT EXISTS (
    SELECT FROM sagapost.subscriptions AS subscription
    WHERE active AND verified AND NOT EXISTS (
      SELECT FROM sagapost.subscription_routes WHERE subscription_id = subscription.id)
  ) THEN
    RETURN 0;
  END IF;
  PERFORM FROM sagapost.subscription_version FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  UPDATE sagapost.subscription_version SET version = version + 1;
  INSERT INTO sagapost.subscription_routes (subscription_id, event_type, first_event_id)
  SELECT id, event_type, (SELECT last_value + is_called::int FROM sagapost.events_id_seq)
  FROM sagapost.subscriptions WHERE active AND verified
  ON CONFLICT (subscription_id) DO NOTHING;
  GET DIAGNOSTICS opened = ROW_COUNT;
  RETURN opened;
END
$$;

-- As open_routes: the trigger above keeps changes of subscriptions waiting until this is committed.
INSERT INTO sagapost.subscription_routes (subscription_id, event_type, first_event_id)
SELECT id, event_type, (SELECT last_value + is_called::int FROM sagapost.events_id_seq)
FROM sagapost.subscriptions WHERE active AND verified;

-- What was lost -----------------------------------------------------------------------------------------------------

-- Events from one id to below another that lack a delivery, and wait for none: their row was deleted from the queue, or
-- never written. By EXCEPT and NOT IN, which sort and hash: of tables without statistics, anti joins became nested loops over
-- all deliveries for each event (10,000 events with 30,000 deliveries took a minute).
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

-- Back into the queue -------------------------------------------------------------------------------------------------

-- Under the time when the events were stored: by that event_deliveries looks for them. Returns how many are there.
CREATE FUNCTION sagapost.queue_events(wanted bigint[]) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  WITH queued AS (
    INSERT INTO sagapost.event_routing_queue (event_type, event_ids, correlation_ids, enqueued_at)
    SELECT event_type, array_agg(id ORDER BY id),
           CASE WHEN count(correlation_id) > 0 THEN array_agg(correlation_id ORDER BY id) END, created_at
    FROM (SELECT id, event_type, correlation_id, created_at,
                 (row_number() OVER (PARTITION BY event_type, created_at ORDER BY id) - 1) / sagapost.entries_per_row() AS part
          FROM sagapost.events WHERE id = ANY (wanted)) AS parted
    GROUP BY event_type, created_at, part ORDER BY min(id)
    RETURNING event_ids
  )
  SELECT coalesce(sum(cardinality(event_ids)), 0)::bigint FROM queued
$$;

-- Everything that was set aside. `gone` are those whose event is no longer stored: there is nothing to deliver.
CREATE FUNCTION sagapost.requeue_set_aside_events(OUT requeued bigint, OUT gone bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  taken bigint[];
BEGIN
  WITH removed AS (DELETE FROM sagapost.set_aside_events RETURNING event_id)
  SELECT coalesce(array_agg(event_id), '{}') INTO taken FROM removed;
  requeued := sagapost.queue_events(taken);
  gone := cardinality(taken) - requeued;
END
$$;

-- What was lost among some ids from the first one on; `next_from` is where the next call goes on, null at the end. Ranges
-- that retention has taken from one table and not yet from the others are left out.
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

REVOKE ALL ON FUNCTION sagapost.close_route(), sagapost.open_routes(), sagapost.lost_events(bigint, bigint),
  sagapost.queue_events(bigint[]), sagapost.requeue_set_aside_events(), sagapost.requeue_lost_events(bigint, integer)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.open_routes() TO schema_maintainer, subscription_admin;
GRANT EXECUTE ON FUNCTION sagapost.lost_events(bigint, bigint) TO saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.requeue_set_aside_events(), sagapost.requeue_lost_events(bigint, integer)
  TO dead_letter_operator;

-- How the deliveries of an event stand; as in 0026, and an event that was set aside is open.
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
  FROM (
    SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = wanted AND requeued_from IS NULL
    UNION ALL
    SELECT * FROM sagapost.webhook_delivery_sagas WHERE event_id = wanted AND requeued_from > 0
  ) AS delivery;
  IF busy > 0 THEN
    due_at := NULL;
  END IF;
  standing := CASE
    WHEN dead > 0 THEN 'dead'
    WHEN busy + waiting > 0 THEN 'open'
    WHEN total > 0 THEN 'completed'
    WHEN EXISTS (
      SELECT FROM sagapost.events AS event
      JOIN sagapost.event_routing_queue AS queued ON queued.enqueued_at = event.created_at AND wanted = ANY (queued.event_ids)
      WHERE event.id = wanted
    ) OR EXISTS (SELECT FROM sagapost.set_aside_events WHERE event_id = wanted) THEN 'open'
    -- A partition goes with its events and their deliveries; nothing is known of those any more.
    WHEN NOT EXISTS (SELECT FROM sagapost.events WHERE id = wanted) THEN 'gone'
    ELSE 'completed' END;
END
$$;
