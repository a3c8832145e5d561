-- An event that goes to many subscriptions is routed in pieces, and holds up no other [R1].

-- A row whose deliveries are too many for one transaction goes to the back, to its id plus 2^52, so that the router takes
-- the others first by event_routing_queue_pkey; from there it is routed piece by piece. Where the next piece begins is
-- written with the deliveries of the last one. Null in every other row, where they take no room.
ALTER TABLE sagapost.event_routing_queue
  -- Of event_ids, so many from the first on have all of their deliveries, or were set aside.
  ADD COLUMN routed_events integer,
  -- Of the next event, the deliveries to subscriptions up to this one are made.
  ADD COLUMN last_subscription_id bigint,
  ADD CONSTRAINT event_routing_queue_pieces CHECK (
    (routed_events IS NOT NULL) = (id >= 1::bigint << 52)
    AND (routed_events IS NULL) = (last_subscription_id IS NULL)
    AND (routed_events >= 0 AND routed_events < cardinality(event_ids)) IS NOT FALSE);

GRANT UPDATE (id, routed_events, last_subscription_id) ON sagapost.event_routing_queue TO router_worker;

-- As in 0026, without the events of a row that are routed.
CREATE OR REPLACE VIEW sagapost.unrouted_events AS
SELECT queued.id AS queue_id, event.id AS event_id, queued.event_type, event.correlation_id, queued.enqueued_at
FROM sagapost.event_routing_queue AS queued
CROSS JOIN LATERAL unnest(
  queued.event_ids[coalesce(queued.routed_events, 0) + 1:],
  queued.correlation_ids[coalesce(queued.routed_events, 0) + 1:]) AS event (id, correlation_id);

-- How the deliveries of an event stand; as in 0031, and an event is open while some of its deliveries are not made yet,
-- though the others may have ended.
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
    WHEN EXISTS (
      SELECT FROM sagapost.events AS event
      JOIN sagapost.event_routing_queue AS queued ON queued.enqueued_at = event.created_at
        AND wanted = ANY (queued.event_ids[coalesce(queued.routed_events, 0) + 1:])
      WHERE event.id = wanted
    ) OR EXISTS (SELECT FROM sagapost.set_aside_events WHERE event_id = wanted) THEN 'open'
    WHEN total > 0 THEN 'completed'
    -- A partition goes with its events and their deliveries; nothing is known of those any more.
    WHEN NOT EXISTS (SELECT FROM sagapost.events WHERE id = wanted) THEN 'gone'
    ELSE 'completed' END;
END
$$;
