-- What the dashboard shows and no other table holds: counts by minute, and the processes that run.

-- One row for each minute and subscription with results, and one for all of them together, under subscription 0. The
-- orchestrators add to it every few seconds, from what they have applied since: not in the transactions that apply, in
-- which all orchestrators would wait for each other at the same row. A process that is killed loses its last seconds
-- here, and nothing else. Rows leave after two days.
CREATE TABLE sagapost.delivery_minutes (
  subscription_id bigint      NOT NULL,
  minute          timestamptz NOT NULL,
  -- Attempts, by their results; deliveries that ended as dead letters are among the failed as well.
  succeeded       integer     NOT NULL,
  failed          integer     NOT NULL,
  dead_lettered   integer     NOT NULL,
  -- How many attempts took how long, by the buckets of src/statistics/duration-buckets.ts.
  durations       integer[]   NOT NULL,
  last_error_code varchar(100),
  CONSTRAINT delivery_minutes_pkey PRIMARY KEY (subscription_id, minute)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
-- Only for the rows that leave: counters are in no index, so that adding to them stays within a page (HOT).
CREATE INDEX idx_delivery_minutes_minute ON sagapost.delivery_minutes (minute);

-- Events by the minute they were routed in, whoever published them; the router adds to it as above.
CREATE TABLE sagapost.event_minutes (
  minute timestamptz NOT NULL,
  events integer     NOT NULL,
  CONSTRAINT event_minutes_pkey PRIMARY KEY (minute)
) WITH (fillfactor = 70);

-- The processes that work on this database: each says every few seconds that it is there. One that is gone for an hour is
-- forgotten.
CREATE TABLE sagapost.processes (
  id         varchar(100) NOT NULL,
  hostname   varchar(255) NOT NULL,
  pid        integer      NOT NULL,
  version    varchar(50)  NOT NULL,
  parts      text[]       NOT NULL,
  started_at timestamptz  NOT NULL DEFAULT sagapost.now(),
  seen_at    timestamptz  NOT NULL DEFAULT sagapost.now(),
  CONSTRAINT processes_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE (succeeded, failed, dead_lettered, durations, last_error_code)
  ON sagapost.delivery_minutes TO saga_orchestrator;
GRANT SELECT, INSERT, UPDATE (events) ON sagapost.event_minutes TO router_worker;
GRANT SELECT, DELETE ON sagapost.delivery_minutes, sagapost.event_minutes TO schema_maintainer;
GRANT SELECT, INSERT (id, hostname, pid, version, parts), UPDATE (seen_at), DELETE
  ON sagapost.processes TO schema_maintainer;
GRANT SELECT ON sagapost.delivery_minutes, sagapost.event_minutes, sagapost.processes TO saga_readonly_role;

-- The statements that take the most time in all; none where the extension pg_stat_statements is not installed.
CREATE FUNCTION sagapost.slow_statements(most integer)
RETURNS TABLE (query text, calls bigint, mean_ms double precision, total_ms double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  installed_in text;
BEGIN
  SELECT nspname INTO installed_in
  FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_stat_statements';
  IF installed_in IS NULL THEN
    RETURN;
  END IF;
  RETURN QUERY EXECUTE format(
    'SELECT query, calls, mean_exec_time, total_exec_time
     FROM %I.pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query ~ ''sagapost[.]''
     ORDER BY total_exec_time DESC LIMIT $1', installed_in) USING most;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  -- It is installed, but the server was not started with it.
  RETURN;
END
$$;
REVOKE ALL ON FUNCTION sagapost.slow_statements(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sagapost.slow_statements(integer) TO saga_readonly_role;

-- The deliveries that failed with one error, of all subscriptions and of one, newest first: those that succeed pay
-- nothing for it.
CREATE INDEX idx_saga_failing_error ON sagapost.webhook_delivery_sagas (final_error_code, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
CREATE INDEX idx_saga_failing_subscription_error
  ON sagapost.webhook_delivery_sagas (subscription_id, final_error_code, status, id)
  WHERE status IN ('PendingRetry', 'DeadLettered');
SELECT sagapost.name_partition_indexes();
