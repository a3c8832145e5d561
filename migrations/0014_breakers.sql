-- A breaker per subscription: an endpoint that fails again and again is paused, without using up the attempts of
-- its deliveries. Workers share it through this table; only subscriptions that fail have a row, so a healthy
-- delivery writes nothing here.
CREATE TABLE sagapost.subscription_breakers (
  subscription_id bigint      NOT NULL,
  -- In a row, since the last success.
  failures        integer     NOT NULL,
  failing_since   timestamptz NOT NULL DEFAULT sagapost.now(),
  last_error_code varchar(100),
  -- Set when the run of failures was long enough: from then on nothing is sent but a probe now and then.
  opened_at       timestamptz,
  probe_at        timestamptz,
  CONSTRAINT subscription_breakers_pkey PRIMARY KEY (subscription_id),
  CONSTRAINT fk_subscription_breakers_subscription
    FOREIGN KEY (subscription_id) REFERENCES sagapost.subscriptions (id) ON DELETE CASCADE,
  CONSTRAINT subscription_breakers_failures_positive CHECK (failures > 0),
  CONSTRAINT subscription_breakers_open_is_probed CHECK ((opened_at IS NULL) = (probe_at IS NULL))
);

GRANT SELECT, INSERT (subscription_id, failures, last_error_code),
  UPDATE (failures, last_error_code, opened_at, probe_at), DELETE
  ON sagapost.subscription_breakers TO job_worker;
GRANT SELECT ON sagapost.subscription_breakers TO subscription_admin, saga_readonly_role;

-- Another URL, a verification that was passed, or an operator who switches the subscription on: a fresh start.
CREATE FUNCTION sagapost.close_breaker() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  DELETE FROM sagapost.subscription_breakers WHERE subscription_id = NEW.id;
  RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION sagapost.close_breaker() FROM PUBLIC;

CREATE TRIGGER subscription_closes_breaker
  AFTER UPDATE ON sagapost.subscriptions
  FOR EACH ROW WHEN (
    OLD.callback_url IS DISTINCT FROM NEW.callback_url
    OR (NEW.active AND NOT OLD.active)
    OR (NEW.verified AND OLD.verification_challenge IS NOT NULL AND NEW.verification_challenge IS NULL))
  EXECUTE FUNCTION sagapost.close_breaker();
ALTER TABLE sagapost.subscriptions ENABLE ALWAYS TRIGGER subscription_closes_breaker;

-- Both go out as HTTP headers: what a header cannot carry would fail every attempt.
ALTER TABLE sagapost.events
  ADD CONSTRAINT events_correlation_id_printable CHECK (correlation_id <> '' AND correlation_id !~ '[^\x21-\x7e]'),
  ADD CONSTRAINT events_traceparent_printable CHECK (traceparent <> '' AND traceparent !~ '[^\x21-\x7e]');
