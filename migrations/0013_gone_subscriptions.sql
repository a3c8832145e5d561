-- 410 Gone (DESIGN 2.12): neither worker nor orchestrator may switch a subscription off, and subscription_admin may
-- read no jobs. It asks this function, which tells no more than which subscriptions are gone.

-- Holds the jobs that ended with 410 and nothing else.
CREATE INDEX idx_job_gone ON sagapost.webhook_delivery_jobs (finished_at) WHERE error_code = 'http_410';
SELECT sagapost.name_partition_indexes();

-- Active subscriptions with a 410 since their last change: the late answer of an old URL does not count against a new
-- one, because the job was made before the change.
CREATE FUNCTION sagapost.gone_subscriptions(since timestamptz)
RETURNS TABLE (subscription_id bigint, observed_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT job.subscription_id, max(job.attempt_at)
  FROM sagapost.webhook_delivery_jobs AS job
  JOIN sagapost.subscriptions AS subscription ON subscription.id = job.subscription_id
  WHERE job.error_code = 'http_410' AND job.finished_at >= since
    AND subscription.active AND subscription.updated_at <= job.attempt_at
  GROUP BY job.subscription_id
$$;

REVOKE ALL ON FUNCTION sagapost.gone_subscriptions(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.gone_subscriptions(timestamptz) TO subscription_admin;
