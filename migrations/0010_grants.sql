-- What each role may do, and nothing else. test/schema/permissions.test.ts holds the whole matrix.
-- Grants on a partitioned table suffice for its partitions; no role can reach a partition directly.

-- Functions are executable by PUBLIC when they are made; ours are not.
REVOKE ALL ON SCHEMA sagapost FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sagapost FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA sagapost FROM PUBLIC;
REVOKE USAGE ON TYPE sagapost.delivery_status, sagapost.job_status FROM PUBLIC;

GRANT USAGE ON SCHEMA sagapost TO
  event_publisher, event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;
GRANT USAGE ON TYPE sagapost.delivery_status, sagapost.job_status TO
  router_worker, saga_orchestrator, job_worker, saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.now(), sagapost.partition_headroom() TO
  event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;
-- Every process checks at its start that the schema is the one it knows.
GRANT SELECT ON sagapost.saga_schema_version TO
  event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;

-- For applications: publish, and nothing else.
GRANT EXECUTE ON FUNCTION
  sagapost.publish(text, json, text, text, text),
  sagapost.publish(text, jsonb, text, text, text),
  sagapost.publish(text, text, text, text, text) TO event_publisher;

-- [E4] The id and the time of an event are the database's.
GRANT SELECT, INSERT (event_type, payload, correlation_id, traceparent) ON sagapost.events TO event_ingest_writer;
GRANT USAGE ON SEQUENCE sagapost.events_id_seq TO event_ingest_writer;
GRANT SELECT ON sagapost.event_keys TO event_ingest_writer;
GRANT EXECUTE ON FUNCTION
  sagapost.publish(text, json, text, text, text),
  sagapost.publish(text, jsonb, text, text, text),
  sagapost.publish(text, text, text, text, text) TO event_ingest_writer;

-- [R4] Identifying columns only: status, count and times of a saga are its defaults. Locking queue rows
-- (FOR UPDATE SKIP LOCKED) needs UPDATE of some column.
GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO router_worker;
GRANT SELECT, UPDATE (enqueued_at), DELETE ON sagapost.event_routing_queue TO router_worker;
GRANT SELECT ON sagapost.subscription_version TO router_worker;
GRANT SELECT, INSERT (event_id, subscription_id, correlation_id) ON sagapost.webhook_delivery_sagas TO router_worker;
GRANT USAGE ON SEQUENCE sagapost.webhook_delivery_sagas_id_seq TO router_worker;

-- [S8, S20] No payload, no lease columns, no write to events or subscriptions; the dead letter is written by
-- the move to DeadLettered itself.
GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO saga_orchestrator;
GRANT SELECT,
  INSERT (event_id, subscription_id, correlation_id),
  UPDATE (status, attempt_count, next_attempt_at, final_error_code, updated_at)
  ON sagapost.webhook_delivery_sagas TO saga_orchestrator;
GRANT SELECT,
  INSERT (saga_id, event_id, subscription_id, attempt_at, attempt, correlation_id),
  UPDATE (applied_at)
  ON sagapost.webhook_delivery_jobs TO saga_orchestrator;
GRANT USAGE ON SEQUENCE sagapost.webhook_delivery_sagas_id_seq, sagapost.webhook_delivery_jobs_id_seq
  TO saga_orchestrator;

-- [J7] Lease and result columns of jobs; everything else only to read.
GRANT SELECT ON sagapost.events, sagapost.webhook_delivery_sagas, sagapost.subscription_secrets TO job_worker;
GRANT SELECT (headers) ON sagapost.subscriptions TO job_worker;
GRANT SELECT,
  UPDATE (status, lease_until, lease_token, worker_id, lease_resets, response_status, error_code, retry_after_s,
          duration_ms, response_excerpt, finished_at)
  ON sagapost.webhook_delivery_jobs TO job_worker;

-- [D5]
GRANT SELECT ON sagapost.dead_letters TO dead_letter_operator;
GRANT EXECUTE ON FUNCTION sagapost.requeue_dead_letter(bigint) TO dead_letter_operator;

-- `verified` is set by confirm_verification alone [U4].
GRANT SELECT,
  INSERT (event_type, callback_url, max_attempts, headers),
  UPDATE (event_type, callback_url, active, max_attempts, headers, verification_challenge, deactivation_reason,
          deleted_at)
  ON sagapost.subscriptions TO subscription_admin;
GRANT SELECT, INSERT (subscription_id, scheme, ciphertext), UPDATE (ciphertext, expires_at)
  ON sagapost.subscription_secrets TO subscription_admin;
GRANT EXECUTE ON FUNCTION sagapost.confirm_verification(bigint, text) TO subscription_admin;

GRANT SELECT, INSERT (name, scope, key_hash), UPDATE (name, last_used_at, revoked_at)
  ON sagapost.api_keys TO api_key_admin;

-- Everything of a subscription but its headers, which may hold credentials, and its open challenge.
GRANT SELECT (id, event_type, callback_url, active, verified, created_at, updated_at, max_attempts,
              deactivation_reason, deleted_at)
  ON sagapost.subscriptions TO event_ingest_writer, router_worker, saga_orchestrator, job_worker, saga_readonly_role;

GRANT SELECT ON sagapost.partition_settings, sagapost.partitions TO schema_maintainer;
GRANT EXECUTE ON FUNCTION sagapost.ensure_partitions(), sagapost.expire_event_keys(timestamptz, integer)
  TO schema_maintainer;

-- [G12]
GRANT SELECT, INSERT, UPDATE, DELETE ON sagapost.saga_instances, sagapost.saga_steps TO saga_app_role;
GRANT SELECT, INSERT ON sagapost.saga_events TO saga_app_role;
GRANT USAGE ON SEQUENCE sagapost.saga_events_id_seq TO saga_app_role;
GRANT EXECUTE ON FUNCTION sagapost.cleanup_expired_sagas(timestamptz),
  -- which the CHECKs of these tables call
  sagapost.is_json_integer(jsonb, bigint, bigint), sagapost.is_rfc3339(text), sagapost.is_saga_error(jsonb),
  sagapost.is_saga_retry_policy(jsonb), sagapost.is_saga_compensation_state(jsonb) TO saga_app_role;

-- Sees everything but secrets and key hashes.
GRANT SELECT ON sagapost.events, sagapost.event_keys, sagapost.event_routing_queue, sagapost.subscription_version,
  sagapost.webhook_delivery_sagas, sagapost.webhook_delivery_jobs, sagapost.dead_letters, sagapost.partition_settings,
  sagapost.partitions, sagapost.saga_instances, sagapost.saga_steps, sagapost.saga_events, sagapost.active_sagas,
  sagapost.failed_sagas, sagapost.completed_sagas, sagapost.saga_statistics TO saga_readonly_role;
GRANT SELECT (id, name, scope, created_at, last_used_at, revoked_at) ON sagapost.api_keys TO saga_readonly_role;
GRANT SELECT (id, subscription_id, scheme, created_at, expires_at) ON sagapost.subscription_secrets
  TO saga_readonly_role;
