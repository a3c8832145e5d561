-- [U5, R2] A delivery is made only for an event that is stored and a subscription that is active and verified; a routed one
-- only for a subscription of the event's type. One check for all deliveries of a statement, for every role and for the owner;
-- docs/internals/decisions.md has its price and what else was measured.
--
-- STABLE: the check has the snapshot of the statement that inserts. A statement that leaves out inactive subscriptions is
-- therefore never refused for one that is switched off meanwhile (src/router/make-possible.ts). Its delivery counts as made
-- before the switch, and is held or ended as such (0032). What the statement itself writes elsewhere is not seen.
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
  -- See check_made_jobs().
  IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'sagapost.events'::regclass OFFSET 24) THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;
  -- The events are read once, into a hash table. The bounds leave out all other partitions when the statement begins.
  SELECT count(*) FILTER (WHERE (made.event_id, subscription.event_type) IN (
    SELECT event.id, event.event_type FROM sagapost.events AS event
    WHERE event.id = ANY (event_ids) AND event.id >= first_id AND event.id <= last_id)) INTO fitting
  FROM made JOIN sagapost.subscriptions AS subscription
    ON subscription.id = made.subscription_id AND subscription.active AND subscription.verified;
  IF fitting = deliveries THEN
    RETURN NULL;
  END IF;

  -- [D4] A requeue is for the subscription of the dead letter, whatever type it is of by now.
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
REVOKE ALL ON FUNCTION sagapost.check_made_deliveries() FROM PUBLIC;

CREATE TRIGGER delivery_fits_subscription
  AFTER INSERT ON sagapost.webhook_delivery_sagas
  REFERENCING NEW TABLE AS made
  FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_deliveries();
ALTER TABLE sagapost.webhook_delivery_sagas ENABLE ALWAYS TRIGGER delivery_fits_subscription;

-- As in 0036, and a delivery that is inserted straight into its partition is looked at as well.
CREATE OR REPLACE FUNCTION sagapost.add_statement_triggers(parent text, partition text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF parent = 'events' THEN
    EXECUTE format(
      'CREATE TRIGGER event_enqueue_routing AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS stored
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.enqueue_routing()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER event_enqueue_routing', partition);
  ELSIF parent = 'webhook_delivery_sagas' THEN
    EXECUTE format(
      'CREATE TRIGGER delivery_fits_subscription AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_deliveries()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER delivery_fits_subscription', partition);
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
    SELECT partition_name FROM sagapost.partitions WHERE table_name = 'webhook_delivery_sagas'
  LOOP
    EXECUTE format(
      'CREATE TRIGGER delivery_fits_subscription AFTER INSERT ON sagapost.%I REFERENCING NEW TABLE AS made
         FOR EACH STATEMENT EXECUTE FUNCTION sagapost.check_made_deliveries()', partition);
    EXECUTE format('ALTER TABLE sagapost.%I ENABLE ALWAYS TRIGGER delivery_fits_subscription', partition);
  END LOOP;
END
$$;
