-- A breaker per subscription: an endpoint that fails again and again is paused, without using up the attempts of
-- its deliveries. Workers share it through this table; only subscriptions that fail have a row, so a healthy
-- delivery writes nothing here.
CREATE TABLE sagapost.subscription_breakers (
  subscription_id bigint      NOT NULL,
  -- In a row, since the last success.
  failures        integer     NOT NULL,
  failing_since   timestamptz NOT NULL DEFAULT sagapost.now(),
  last_error_code varchar(100),
  last_failed_at  timestamptz NOT NULL DEFAULT sagapost.now(),
  -- Set when the run of failures was long enough: from then on, until the pause has ended, nothing is sent but a
  -- probe now and then.
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

GRANT SELECT, INSERT (subscription_id, failures, last_error_code),
  UPDATE (failures, last_error_code, last_failed_at, opened_at, paused_until, probe_at), DELETE
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

-- Requests that tried a paused endpoint and failed: they use up no attempt, so no result tells of them.
ALTER TABLE sagapost.webhook_delivery_jobs
  ADD COLUMN probes integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT jobs_probes_not_negative CHECK (probes >= 0);
GRANT UPDATE (probes) ON sagapost.webhook_delivery_jobs TO job_worker;

-- As in 0005, with the new column.
DROP TRIGGER job_final_is_frozen ON sagapost.webhook_delivery_jobs;
CREATE TRIGGER job_final_is_frozen
  BEFORE UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (OLD.status IN ('Completed', 'Failed') AND (
    OLD.applied_at IS NOT NULL OR NEW.applied_at IS NULL
    OR (OLD.status, OLD.lease_until, OLD.lease_token, OLD.worker_id, OLD.lease_resets, OLD.probes, OLD.response_status,
        OLD.error_code, OLD.retry_after_s, OLD.duration_ms, OLD.response_excerpt, OLD.finished_at)
       IS DISTINCT FROM
       (NEW.status, NEW.lease_until, NEW.lease_token, NEW.worker_id, NEW.lease_resets, NEW.probes, NEW.response_status,
        NEW.error_code, NEW.retry_after_s, NEW.duration_ms, NEW.response_excerpt, NEW.finished_at)))
  EXECUTE FUNCTION sagapost.refuse('SP003', 'a Completed or Failed job never changes');
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_final_is_frozen;

-- Both go out as HTTP headers: what a header cannot carry would fail every attempt.
ALTER TABLE sagapost.events
  ADD CONSTRAINT events_correlation_id_printable CHECK (correlation_id <> '' AND correlation_id !~ '[^\x21-\x7e]'),
  ADD CONSTRAINT events_traceparent_printable CHECK (traceparent <> '' AND traceparent !~ '[^\x21-\x7e]');
