-- [J3, J12] Every request is an attempt: a breaker's probe is reported and counted like any other, so that nothing is left to
-- count beside the results.
ALTER TABLE sagapost.webhook_delivery_jobs DROP COLUMN probes;

-- [J12] A job goes back only as one without a request, so until it is finished it has nothing of a result. And lost leases
-- are counted one by one, and never down: a payload that ends its workers is tried so often, and no more.
CREATE TRIGGER job_goes_back_unsent
  AFTER UPDATE ON sagapost.webhook_delivery_jobs
  FOR EACH ROW WHEN (NEW.lease_resets <> OLD.lease_resets AND
                     (OLD.status <> 'Leased' OR NEW.lease_resets <> OLD.lease_resets + 1)
    OR NEW.status IN ('Pending', 'Leased') AND num_nonnulls(
      NEW.response_status, NEW.error_code, NEW.retry_after_s, NEW.duration_ms, NEW.response_excerpt, NEW.finished_at) > 0)
  EXECUTE FUNCTION sagapost.refuse('SP002', 'a job that was sent is not put back');
ALTER TABLE sagapost.webhook_delivery_jobs ENABLE ALWAYS TRIGGER job_goes_back_unsent;

-- Under load a breaker opens with the first failures that are written of an endpoint.
GRANT INSERT (opened_at, paused_until, probe_at) ON sagapost.subscription_breakers TO job_worker;
